import { existsSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { CLIENT_FLAGS, defineClientCommand } from './client-command.ts'
import { UsageError } from './flags.ts'
import { ProgressLine, writeOut } from './terminal.ts'

/** Longer than the last line of an export. */
const TAIL_BYTES = 1024

/** `evidence-registry export`. */
export const exportCommand = defineClientCommand({
  name: 'export',
  description: `
Writes all evidences of a company to a file of JSON lines, each as a proof bundle with its whole history. It needs a
key with level R. Check the file with: evidence-registry verify --export FILE --policy POLICY`,
  flags: {
    ...CLIENT_FLAGS,
    to: { value: 'FILE', doc: 'default: COMPANY.evidence.ndjson. It must not exist; - is standard output' },
  },
  async run(registry, { company, to: path = `${company}.evidence.ndjson`, json = false }) {
    const isFile = path !== '-'
    if (isFile && existsSync(path)) throw new UsageError(`${path} exists: name another file with --to`)
    const { body } = await registry.exportEvidences()
    const partPath = isFile ? `${path}.part` : 'standard output'
    const file = isFile ? await open(partPath, 'w') : undefined
    const progress = new ProgressLine()
    let [total, lines, tail]: [string | undefined, number, Buffer] = [undefined, 0, Buffer.of()]
    try {
      for await (const chunk of body ?? []) {
        await (file?.appendFile(chunk) ?? writeOut(chunk))
        total ??= /"counts":\{"evidences":(\d+)/.exec(Buffer.from(chunk).toString())?.[1]
        for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
        tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES)
        progress.show(`${Math.max(0, lines - 1)} of ${total ?? '?'} evidences`)
      }
      await file?.sync()
    } finally {
      await file?.close()
    }
    if (!/(?:^|\n)\{"end":true,.*\}\n$/.test(tail.toString())) throw new Error(`${partPath} is cut off: try again`)
    if (!isFile) return 0
    await rename(partPath, path)
    progress.print(json ? JSON.stringify({ file: path, evidences: lines - 2 }) : `${path}: ${lines - 2} evidences`)
    return 0
  },
})
