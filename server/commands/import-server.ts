import { isRegistryError, RegistryError } from '../../core/index.ts'
import type { EvidenceRegistryError } from '../client/index.ts'
import { newestId, sendRows, type ImportRow } from '../import/send.ts'
import { findSubcategory } from '../import/subcategories.ts'
import { CLIENT_FLAGS, defineClientCommand } from './client-command.ts'
import type { CommandInput } from './command.ts'
import { importCommand as importToStore, openSource, progressText, summary } from './import.ts'
import { parseLine } from './import-lines.ts'
import { numbered } from './import-run.ts'
import { printable, ProgressLine } from './terminal.ts'

/** `evidence-registry import`: into the store, or with `--url` through the REST API of a running server. */
export const importCommand = (input: CommandInput): Promise<number> =>
  input.args.some((arg) => /^--url(?:=|$)/.test(arg)) ? importToServer(input) : importToStore(input)

const importToServer = defineClientCommand({
  name: 'import',
  description: `
Creates evidences on a running server from a CSV file or from lines of JSON, as without --url. It needs a key with
level I. A line of a category that does not exist is refused. Run it again after an interruption.`,
  flags: CLIENT_FLAGS,
  operand: 'FILE',
  async run(client, { json = false }, [path = '']) {
    const source = await openSource(path)
    const progress = new ProgressLine()
    const counts = { created: 0, present: 0, refused: 0 }
    const refuse = (line: number, error: RegistryError | EvidenceRegistryError): void => {
      counts.refused++
      const { code } = error
      // Without the request, which is that of many lines.
      const message = error.message.replace(/^[A-Z]+ \S+: /, '')
      progress.print(json ? JSON.stringify({ line, code, message }) : `${line} ${code} ${printable(message)}`)
    }
    const categories = await client.listCategories()
    const onRead = (read: number): void => progress.show(progressText(counts, read, source.bytes))
    async function* rows(): AsyncGenerator<ImportRow> {
      for await (const { number, bytes } of numbered(source.lines, onRead))
        try {
          const input = parseLine(bytes)
          if (input === undefined) continue
          const { category, subcategory, image: _image, files: _files, ...evidence } = input
          const place = findSubcategory(categories, category, subcategory)
          if (place === undefined) throw new RegistryError('CATEGORY_NOT_FOUND', 'There is no such active subcategory')
          yield { number, ...place, evidence }
        } catch (error) {
          if (!isRegistryError(error)) throw error
          refuse(number, error)
        }
    }
    try {
      await sendRows(rows(), {
        client,
        since: await newestId(client),
        onDone: (count, outcome) => void (counts[outcome] += count),
        onRefused: ({ number }, error) => refuse(number, error),
      })
    } finally {
      source.chunks.destroy()
    }
    progress.print(json ? JSON.stringify(counts) : summary(counts, false))
    return counts.refused === 0 ? 0 : 1
  },
})
