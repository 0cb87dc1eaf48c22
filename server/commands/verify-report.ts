import {
  isLocalTimeOnly,
  type BundleClaims,
  type BundleEventClaims,
  type BundleResult,
  type ErasedOfEvent,
  type ExportResult,
  type ExportState,
  type FileVerdict,
  type ReceiptClaims,
} from '../../core/verify/index.ts'
import { LOCAL_TEST, LOCAL_TEST_LEDGER } from '../verdict-advice.ts'
import { printable } from './terminal.ts'

/** What `verify` prints. */

/** The first word of the report. */
export const VERDICTS: Readonly<Record<ExportState, string>> = {
  proven: 'PROVEN',
  consistent: 'CONSISTENT, BUT NOT PROVEN: no keys are pinned (--policy)',
  pending: 'PENDING: an event is not sealed yet',
  'retired-key': 'BY A RETIRED KEY, and nothing leads to its last tree',
  'newer-key': 'BY A NEWER KEY',
  'other-log': 'OF ANOTHER LOG: nothing is said about it',
  requirement: 'HOLDS, BUT A REQUIREMENT IS MISSING',
  refuted: 'REFUTED',
  unreadable: 'NOT READABLE',
  incomplete: 'INCOMPLETE',
  changed: 'CHANGED',
}

const FILE_VERDICTS: Readonly<Record<FileVerdict, string>> = {
  matches: 'MATCHES: it is the content of file',
  'not-in-this-proof': 'NOT IN THIS PROOF: no file of it has this content',
  'not-comparable': 'NOT COMPARABLE: no disclosed file has this content, and some files are not disclosed',
}

/** @param advice what to do, if there is something to do */
export const jsonReport = (result: BundleResult | ExportResult, advice?: string): string =>
  `${JSON.stringify({ ...result, advice }, withMaps, 2)}\n`

const withMaps = (_: string, value: unknown): unknown => (value instanceof Map ? Object.fromEntries(value) : value)

/** @param advice what to do, if there is something to do */
export function textReport(name: string, result: BundleResult, advice?: string): string {
  const reason = 'reason' in result ? `: ${printable(result.reason)}` : ''
  const rule = 'rule' in result ? [`rule ${result.rule}, in the check "${result.check}"`] : []
  const verdict = `${printable(name)}: ${VERDICTS[result.state]}${reason}`
  const scope = 'claims' in result ? [scopeOf(result.claims)] : []
  const files = 'claims' in result ? result.claims.contents.map(contentLine) : []
  const lines = 'claims' in result ? [verdict, ...scope, ...files, ...claimLines(result.claims)] : [verdict, ...rule]
  const unchecked = result.unchecked.map(({ what, why }) => `not checked: ${printable(what)}: ${printable(why)}`)
  return [...lines, ...(advice === undefined ? [] : [printable(advice)]), ...unchecked, ''].join('\n')
}

/** How much of the history the verdict is about. */
const scopeOf = ({ events, isHistory }: BundleClaims): string =>
  (events.length === 1 ? 'This one event' : isHistory ? `Events 1 to ${events.length}` : 'These events') +
  ' only: later events, such as a theft, are not in it'

/** The verdict about a file that was given. It is not about the record. */
const contentLine = (content: BundleClaims['contents'][number]): string =>
  `${printable(content.name)}: ${FILE_VERDICTS[content.state]}` +
  ('fileId' in content ? ` ${printable(content.fileId)}` : '')

/** Everything that is proven, for all events. */
function claimLines({ origin, events, file, receipts }: BundleClaims): readonly string[] {
  return [
    `log ${printable(origin)}`,
    ...(file === undefined ? [] : [`file ${printable(file.fileId)}: ${file.state} (event ${file.event})`]),
    ...events.flatMap(eventLines),
    ...receipts.flatMap(receiptLines),
  ]
}

/** What the registry stated that it erased, and when. */
function receiptLines({ txId, log, erasure, ...times }: ReceiptClaims): readonly string[] {
  const stated =
    erasure === undefined
      ? ['  what was erased is not shown']
      : [
          `  stated at ${timeText(erasure.time)} by ${printable(erasure.by)}; reason: ${erasure.reason}`,
          ...erasure.erased.map(erasedLine),
        ]
  return [`receipt of an erasure ${txId}`, ...stated, entryLine(log), timeLine(times)]
}

const erasedLine = ({ txId, fields, files }: ErasedOfEvent): string =>
  `  erased of the event ${txId}: ${printable([...fields, ...files.map((id) => `file ${id}`)].join(', '))}`

export const timeText = (ms: number): string => {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString()
}

/** What is proven about one event. Times by the registry's own clock are named as such. */
function eventLines(event: BundleEventClaims): readonly string[] {
  const { txId, version, committedTime, log } = event
  return [
    `event ${version === undefined ? '' : `${version} `}${txId}`,
    `  recorded at ${timeText(committedTime)} by the registry's own clock`,
    log === undefined ? '  not sealed yet' : entryLine(log),
    timeLine(event),
    ...attestations(event),
    ...disclosures(event),
  ]
}

const entryLine = ({ position, treeSize }: ReceiptClaims['log']): string =>
  `  entry ${position} of the log, in its tree of ${treeSize} entries`

type StatedTimes = Pick<ReceiptClaims, 'notLaterThan' | 'timestamps' | 'anchors'>

const timeLine = ({ notLaterThan, ...stated }: StatedTimes): string =>
  `  ${notLaterThan === undefined ? 'no time is proven' : `existed not later than ${timeText(notLaterThan)}`}` +
  (isLocalTimeOnly(stated) ? `, by ${stated.timestamps.length > 0 ? LOCAL_TEST : LOCAL_TEST_LEDGER}` : '')

const noteIf = (isLocalTest: boolean, note: string): string => (isLocalTest ? ` (${note})` : '')

/** Who else vouches for the event, and since when. */
function attestations({ timestamps, anchors, witnesses, assurance }: BundleEventClaims): readonly string[] {
  const authorities = timestamps.flatMap((timestamp) => timestamp.authorities)
  return [
    ...authorities.map(({ name, genTime, serialNumber, isLocalTest, revocation }) => {
      const states = [...new Set(revocation.map(({ state }) => state))].join(', ')
      return (
        `    timestamp of ${printable(name)}: ${timeText(genTime)}, serial ${serialNumber}, revocation: ` +
        (states || 'none to check') +
        noteIf(isLocalTest, LOCAL_TEST)
      )
    }),
    ...anchors.map(({ network, blockNumber, blockTime, account, isLocalTest, isBlockFinal }) => {
      const doubt = isBlockFinal ? '' : ', if a node confirms the block'
      return (
        `    block ${blockNumber} of ${printable(network)}: ${timeText(blockTime)}, account ` +
        `${printable(account)}${doubt}${noteIf(isLocalTest, LOCAL_TEST_LEDGER)}`
      )
    }),
    ...(assurance === undefined ? [] : [`    ${assurance}`]),
    ...witnesses.map((witness) => `    witness ${printable(witness.name)}: ${timeText(witness.time)}`),
  ]
}

/** What the bundle shows of the event. Texts of strangers are escaped. */
function disclosures({ fields, hiddenFields, files, hiddenFiles }: BundleEventClaims): readonly string[] {
  return [
    ...[...fields].map(([name, value]) => `  ${printable(name)} = ${printable(JSON.stringify(value))}`),
    ...(hiddenFields.length === 0 ? [] : [`  not disclosed: ${printable(hiddenFields.join(', '))}`]),
    ...[...files.values()].map((file) =>
      'deleted' in file
        ? `  deletes the file ${printable(file.id)}`
        : `  file ${printable(file.id)}: ${printable(file.name)}, ${printable(file.mimeType)}, ${file.size} ` +
          `bytes, SHA-256 ${file.sha256}`,
    ),
    ...hiddenFiles.map((id) => `  file ${printable(id)}: not disclosed`),
  ]
}
