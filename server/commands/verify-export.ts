import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { ExportVerifier, type ExportResult, type VerifyBundleOptions } from '../../core/verify/index.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { LOCAL_TIME } from '../verdict-advice.ts'
import { UsageError } from './flags.ts'
import { linesOf } from './lines.ts'
import { printable, ProgressLine, whyUnreadable } from './terminal.ts'
import { timeText, VERDICTS } from './verify-report.ts'

const CARRIAGE_RETURN = 0x0d
const BOM = Buffer.of(0xef, 0xbb, 0xbf)

/** `verify --export`: reads the file line by line, because it can have many gigabytes. */

const CHUNK_BYTES = 1024 * 1024

/** @throws UsageError for a file that cannot be read, or is something else */
export async function verifyExportFile(
  path: string,
  options: Pick<VerifyBundleOptions, 'policy' | 'require' | 'mlDsa44'>,
): Promise<ExportResult> {
  const progress = new ProgressLine()
  const verifier = new ExportVerifier({ ...options, tokens })
  const hash = createHash('sha256')
  let [last, count]: [Uint8Array | undefined, number] = [undefined, 0]
  try {
    const chunks = createReadStream(path, { highWaterMark: CHUNK_BYTES })
    for await (const lines of linesOf(chunks, ExportVerifier.MAX_LINE_BYTES)) {
      for (const each of lines) {
        const line = asWritten(each, count++ === 0)
        verifier.add(line)
        if (verifier.isDone) break
        if (line.length === 0) continue
        if (last !== undefined) hash.update(last).update('\n')
        last = line
      }
      progress.show(`${count} lines verified`)
      if (verifier.isDone) break
    }
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${whyUnreadable(error)}`)
  }
  progress.end()
  const result = verifier.end(hash.digest('hex'))
  if (result.head !== undefined) return result
  const why = printable(result.findings[0]?.reason ?? 'it is empty')
  throw new UsageError(
    `${path} is not an export (${why}): name the file as it was exported. A bundle needs no --export`,
  )
}

/** A line without what a program on the way may have put before or after it. */
function asWritten(line: Uint8Array, isFirst: boolean): Uint8Array {
  const start = isFirst && BOM.equals(line.subarray(0, BOM.length)) ? BOM.length : 0
  return line.subarray(start, line.at(-1) === CARRIAGE_RETURN ? -1 : line.length)
}

/** What an export proves, and what is wrong with it. */
export function exportReport(name: string, result: ExportResult): string {
  const { state, stoppedAt, head, counts, sealedEvents, notLaterThan, isLocalTime, found, findings, unchecked } = result
  const { evidences, events, unsealed, withoutBundle } = counts
  const proven =
    (notLaterThan === undefined ? 'not all with a proven time' : `all not later than ${timeText(notLaterThan)}`) +
    (isLocalTime ? ` (${LOCAL_TIME})` : '')
  const ofFile = findings.find((one) => one.state === state && (state === 'incomplete' || state === 'changed'))
  const lines = [
    [name, VERDICTS[state], ...(ofFile ? [ofFile.reason] : [])].join(': '),
    `log ${head?.origin}`,
    `company ${head?.company}, exported at ${head?.exportedAt}`,
    `${evidences} evidences with ${events} events: ${unsealed} not wholly sealed, ${withoutBundle} without a bundle`,
    `  ${sealedEvents} events are in signed trees, ${proven}`,
    ...findings.map(({ line, state: of, reason, rule }) => `line ${line}: ${of}: ${reason}${rule ? ` (${rule})` : ''}`),
    ...(found > findings.length ? [`and ${found - findings.length} more`] : []),
    ...(stoppedAt === undefined ? [] : [`not checked: the lines after line ${stoppedAt}`]),
    ...unchecked.map(({ what, why }) => `not checked: ${what}: ${why}`),
  ]
  return `${lines.map(printable).join('\n')}\n`
}
