import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { filesBelow } from '../../support/temporary.ts'
import { pick, type Random } from '../../support/bundle-mutations.ts'
import type { Template } from './template.ts'

/** Changes files and folders of a data directory. Returns what was changed, or `undefined` if that is not possible. */

type FileChange = (directory: string, template: Template, random: Random) => Promise<string | undefined>

const ACTIONS = ['flip', 'flip', 'truncate', 'delete', 'roll back', 'swap', 'foreign', 'append'] as const

/** Changes one of the files that `isPart` selects by their path below the data directory. */
export const changeFile =
  (isPart: (path: string) => boolean): FileChange =>
  async (directory, template, random) => {
    const paths = (await filesBelow(directory)).filter(isPart)
    const path = pick(random, paths)
    const action = pick(random, ACTIONS)
    const before = await readFile(join(directory, path))
    const after = await changedFile(action, { directory, path, paths, before, template, random })
    if (after === undefined || (after !== 'gone' && before.equals(after))) return undefined
    await (after === 'gone' ? rm(join(directory, path)) : writeFile(join(directory, path), after))
    return `${action} ${path}`
  }

interface FileToChange {
  readonly directory: string
  readonly path: string
  /** Of the same part of the data directory. */
  readonly paths: readonly string[]
  readonly before: Buffer
  readonly template: Template
  readonly random: Random
}

async function changedFile(
  action: (typeof ACTIONS)[number],
  { directory, path, paths, before, template, random }: FileToChange,
): Promise<Buffer | 'gone' | undefined> {
  switch (action) {
    case 'flip':
      return before.length === 0 ? undefined : flipBit(before, random)
    case 'truncate':
      return before.subarray(0, Math.floor(random() * before.length))
    case 'append':
      return Buffer.concat([before, Buffer.from('\0garbage\n')])
    case 'delete':
      return 'gone'
    case 'roll back':
      return readFile(join(template.earlier, path)).catch(() => undefined)
    case 'foreign':
      return readFile(join(template.foreign, path)).catch(() => undefined)
    default: {
      const other = join(directory, pick(random, paths))
      const content = await readFile(other)
      await writeFile(other, before)
      return content
    }
  }
}

function flipBit(before: Buffer, random: Random): Buffer {
  const after = Buffer.from(before)
  const at = Math.floor(random() * after.length)
  after[at] = (after[at] ?? 0) ^ (1 << Math.floor(random() * 8))
  return after
}

const LINE_ACTIONS = ['delete', 'swap', 'repeat', 'cut', 'shorten'] as const

/** Changes whole lines of the local ledger. */
export async function changeLedgerLines(
  directory: string,
  _template: Template,
  random: Random,
): Promise<string | undefined> {
  const path = join(directory, 'ledger', 'blocks.jsonl')
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
  const action = pick(random, LINE_ACTIONS)
  const [a, b] = [Math.floor(random() * lines.length), Math.floor(random() * lines.length)]
  const changed = changedLines(action, lines, [a, b])
  if (changed.join('\n') === lines.join('\n')) return undefined
  await writeFile(path, changed.map((line) => `${line}\n`).join(''))
  return `${action} line ${a + 1}${action === 'swap' ? ` and ${b + 1}` : ''} of the ledger`
}

function changedLines(
  action: (typeof LINE_ACTIONS)[number],
  lines: readonly string[],
  [a, b]: readonly [number, number],
): readonly string[] {
  const line = lines[a] ?? ''
  switch (action) {
    case 'delete':
      return lines.toSpliced(a, 1)
    case 'swap':
      return lines.with(a, lines[b] ?? '').with(b, line)
    case 'repeat':
      return lines.toSpliced(b, 0, line)
    case 'cut':
      return lines.slice(0, a)
    default:
      return lines.with(a, line.slice(0, b))
  }
}

/**
 * Parts of a data directory that can be lost or set back together. Without the last three, everything that remembers
 * the size of the log would be set back, which nothing on this machine can detect.
 */
const FOLDERS: readonly (readonly string[])[] = [
  ['records'],
  ['blobs'],
  ['ledger'],
  ['tsa'],
  ['records', 'signed-head.json'],
  ['records', 'ledger'],
  ['signed-head.json', 'ledger'],
  ['blobs', 'tsa', 'checkpoint-keys.json'],
]

const FOLDER_ACTIONS = ['delete', 'roll back', 'foreign', 'empty'] as const

/** Removes folders, or replaces them by those of the earlier copy or of another registry. */
export async function changeFolders(
  directory: string,
  template: Template,
  random: Random,
): Promise<string | undefined> {
  const parts = pick(random, FOLDERS)
  const action = pick(random, FOLDER_ACTIONS)
  for (const part of parts) {
    const path = join(directory, part)
    const isFolder = (await stat(path)).isDirectory()
    await rm(path, { recursive: true })
    const source = action === 'roll back' ? template.earlier : template.foreign
    if (action === 'roll back' || action === 'foreign') await cp(join(source, part), path, { recursive: true })
    if (action === 'empty' && isFolder) await mkdir(path)
  }
  return `${action} ${parts.join(' and ')}`
}

/** Replaces a deleted file, removes a file, or exchanges two of them. */
export async function changeBlobs(directory: string, template: Template, random: Random): Promise<string | undefined> {
  if (random() < 0.8) return changeFile((path) => path.startsWith('blobs/'))(directory, template, random)
  const existing = new Set(await filesBelow(directory))
  const deleted = (await filesBelow(template.earlier)).filter(
    (path) => path.startsWith('blobs/') && !existing.has(path),
  )
  const path = pick(random, deleted)
  await mkdir(dirname(join(directory, path)), { recursive: true })
  await cp(join(template.earlier, path), join(directory, path))
  return `restore deleted ${path}`
}
