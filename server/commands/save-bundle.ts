import { readFile, rename, writeFile } from 'node:fs/promises'
import { BUNDLE_EXTENSION, type Bundle } from '../../core/schemas/index.ts'

/**
 * Writes a bundle, unless a file has the same events and at least as many attestations and receipts. Files about other
 * events stay: the name then gets a number. Returns the path of the file.
 */
export async function saveBundle(path: string, text: string): Promise<string> {
  for (let number = 1; ; number++) {
    const file = number === 1 ? path : `${path.slice(0, -BUNDLE_EXTENSION.length)}~${number}${BUNDLE_EXTENSION}`
    if (await writeNew(file, text)) return file
    const known = summaryOf(await readFile(file, 'utf8'))
    const made = summaryOf(text)
    if (known === undefined || known.events !== made?.events) continue
    if (known.attestations < made.attestations) {
      await writeFile(`${file}.part`, text)
      await rename(`${file}.part`, file)
    }
    return file
  }
}

const writeNew = (file: string, text: string): Promise<boolean> =>
  writeFile(file, text, { flag: 'wx' }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      return false
    },
  )

/**
 * `undefined` for a text that is not a bundle. A bundle of a file is only compared here, not believed. What attests a
 * tree counts for each event in it: before they are stamped, events can be in many trees, and later in a single one.
 */
function summaryOf(text: string): { readonly events: string; readonly attestations: number } | undefined {
  try {
    const { events, checkpoints, receipts = [] }: Bundle = JSON.parse(text)
    const ofTrees = new Map(checkpoints.map(({ note, tokens, anchors }) => [sizeOfTree(note), [...tokens, ...anchors]]))
    return {
      events: events.map(({ opening }) => opening).join(' '),
      attestations: [...events, ...receipts].flatMap(({ inclusion }) => [
        ...inclusion.slice(0, 1),
        ...inclusion.flatMap(({ treeSize }) => ofTrees.get(treeSize) ?? []),
      ]).length,
    }
  } catch {
    return undefined
  }
}

/** Of a checkpoint. */
export const sizeOfTree = (note: string): number => Number(note.split('\n')[1])
