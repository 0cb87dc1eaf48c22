import { link, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Random } from '../../support/bundle-mutations.ts'
import type { TraceRecord } from './trace.ts'

/**
 * A disk whose power can fail. It knows what POSIX promises: the bytes of a file are durable after a sync of the file,
 * a name is durable after a sync of its folder, and nothing else is.
 */

/** What a power loss leaves of the changes that were not synced. */
export type Damage =
  /** Nothing. */
  | 'none of it'
  /** Of each file and folder, the first changes, up to a random one. */
  | 'a part of it'
  /** As before, and of the next write of each file some sectors of 512 or 4,096 bytes. */
  | 'torn at 512'
  | 'torn at 4096'
  /** Everything, as after SIGKILL. */
  | 'all of it'

export const DAMAGES: readonly Damage[] = ['none of it', 'a part of it', 'torn at 512', 'torn at 4096', 'all of it']

type FileChange = { readonly offset: number; readonly bytes: Buffer } | { readonly size: number }

/** Changes of names that happen together. `undefined`: the name is removed. */
type NameChange = readonly (readonly [name: string, node: DiskNode | undefined])[]

type DiskNode = DiskFile | DiskFolder

class DiskFile {
  #durable = new Content()
  #pending: FileChange[] = []

  change(change: FileChange): void {
    this.#pending.push(change)
  }

  sync(): void {
    for (const change of this.#pending) this.#durable.apply(change)
    this.#pending = []
  }

  /** The bytes after a power loss. */
  bytesAfter(damage: Damage, random: Random): Buffer {
    const content = this.#durable.copy()
    const kept = keptOf(this.#pending.length, damage, random)
    for (const change of this.#pending.slice(0, kept)) content.apply(change)
    const next = this.#pending[kept]
    const sectorBytes = damage === 'torn at 512' ? 512 : damage === 'torn at 4096' ? 4_096 : undefined
    if (next !== undefined && 'bytes' in next && sectorBytes !== undefined)
      for (const sector of sectorsOf(next, sectorBytes)) if (random() < 0.5) content.apply(sector)
    return content.bytes
  }
}

class DiskFolder {
  readonly #durable = new Map<string, DiskNode>()
  #pending: NameChange[] = []
  /** The names as the running process sees them. */
  readonly names = new Map<string, DiskNode>()

  change(change: NameChange): void {
    apply(this.names, change)
    this.#pending.push(change)
  }

  sync(): void {
    for (const change of this.#pending) apply(this.#durable, change)
    this.#pending = []
  }

  /** Makes the name of this node durable, and all changes of names before it, in the order of a journal. */
  syncName(node: DiskNode): void {
    const last = this.#pending.findLastIndex((change) => change.some(([, each]) => each === node))
    for (const change of this.#pending.splice(0, last + 1)) apply(this.#durable, change)
  }

  /** The names after a power loss. */
  namesAfter(damage: Damage, random: Random): ReadonlyMap<string, DiskNode> {
    const names = new Map(this.#durable)
    for (const change of this.#pending.slice(0, keptOf(this.#pending.length, damage, random))) apply(names, change)
    return names
  }
}

function apply(names: Map<string, DiskNode>, change: NameChange): void {
  for (const [name, node] of change) {
    if (node === undefined) names.delete(name)
    else names.set(name, node)
  }
}

/** How many of the pending changes survive. */
function keptOf(count: number, damage: Damage, random: Random): number {
  if (damage === 'none of it') return 0
  return damage === 'all of it' ? count : Math.floor(random() * (count + 1))
}

function* sectorsOf({ offset, bytes }: { readonly offset: number; readonly bytes: Buffer }, sectorBytes: number) {
  for (let at = offset; at < offset + bytes.length;) {
    const end = Math.min(offset + bytes.length, at - (at % sectorBytes) + sectorBytes)
    yield { offset: at, bytes: bytes.subarray(at - offset, end - offset) }
    at = end
  }
}

/** The bytes of a file, in a buffer that grows. Bytes that were never written are zero. */
class Content {
  #buffer = Buffer.alloc(0)
  #size = 0

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size)
  }

  copy(): Content {
    const copy = new Content()
    copy.#buffer = Buffer.from(this.bytes)
    copy.#size = this.#size
    return copy
  }

  apply(change: FileChange): void {
    if ('size' in change) return this.#resize(change.size)
    const end = change.offset + change.bytes.length
    if (end > this.#size) this.#resize(end)
    change.bytes.copy(this.#buffer, change.offset)
  }

  #resize(size: number): void {
    if (size > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(size, 2 * this.#buffer.length))
      this.bytes.copy(larger)
      this.#buffer = larger
    }
    // What a truncate removes reads as zeros if the file grows again.
    if (size < this.#size) this.#buffer.fill(0, size, this.#size)
    this.#size = size
  }
}

export class SimulatedDisk {
  readonly #root: string
  readonly #folder = new DiskFolder()
  /** By their number. Files that are open keep theirs when they lose their name. */
  readonly #files = new Map<bigint, DiskFile>()
  /** The folder in which each file was created whose sync makes its name durable. */
  readonly #origins = new Map<DiskFile, DiskFolder>()
  readonly #syncsName: (path: string) => boolean

  /**
   * @param root Path of the folder that was traced. It was empty and durable at the beginning.
   * @param syncsName Whether the sync of a new file makes its name durable, too. POSIX does not promise it; ext4, XFS
   *   and Btrfs do it.
   */
  constructor(root: string, syncsName: (path: string) => boolean) {
    this.#root = root
    this.#syncsName = syncsName
  }

  apply({ operation, file, offset, path, bytes }: TraceRecord): void {
    if (operation === 'create') this.#create(file, path)
    else if (operation === 'write') this.#files.get(file)?.change({ offset, bytes })
    else if (operation === 'truncate') this.#files.get(file)?.change({ size: offset })
    else if (operation === 'sync') this.#sync(this.#files.get(file))
    else if (operation === 'sync-folder') this.#folderAt(this.#partsOf(path)).sync()
    else if (operation === 'mkdir') this.#rename(undefined, path, new DiskFolder())
    else if (operation === 'rename') this.#rename(path, bytes.toString(), this.#nodeAt(path))
    else if (operation === 'link') this.#rename(undefined, bytes.toString(), this.#nodeAt(path))
    else this.#rename(path, undefined, undefined)
  }

  /** Writes into `target` what is on the disk after a power loss now. */
  async writeImage(target: string, damage: Damage, random: Random): Promise<void> {
    await writeFolder(this.#folder, target, { damage, random, written: new Map() })
  }

  #create(number: bigint, path: string): void {
    const file = new DiskFile()
    this.#files.set(number, file)
    this.#rename(undefined, path, file)
    if (this.#syncsName(path)) this.#origins.set(file, this.#folderAt(this.#partsOf(path).slice(0, -1)))
  }

  #sync(file: DiskFile | undefined): void {
    file?.sync()
    if (file !== undefined) this.#origins.get(file)?.syncName(file)
  }

  /** Removes one name, gives another one to `node`, or both in one step. Both are in the same folder. */
  #rename(from: string | undefined, to: string | undefined, node: DiskNode | undefined): void {
    const parts = this.#partsOf(to ?? from ?? '')
    const folder = this.#folderAt(parts.slice(0, -1))
    if (from !== undefined && this.#folderAt(this.#partsOf(from).slice(0, -1)) !== folder)
      throw new Error(`${from} was moved to another folder, which this model does not know`)
    folder.change([
      ...(from === undefined ? [] : [[this.#partsOf(from).at(-1) ?? '', undefined] as const]),
      ...(to === undefined ? [] : [[parts.at(-1) ?? '', node] as const]),
    ])
  }

  #partsOf(path: string): readonly string[] {
    return path.slice(this.#root.length).split('/').filter(Boolean)
  }

  #folderAt(parts: readonly string[]): DiskFolder {
    const node = this.#find(parts)
    if (node instanceof DiskFolder) return node
    throw new Error(`The trace has no folder ${parts.join('/')}`)
  }

  #nodeAt(path: string): DiskNode {
    const node = this.#find(this.#partsOf(path))
    if (node === undefined) throw new Error(`The trace has no file ${path}`)
    return node
  }

  #find(parts: readonly string[]): DiskNode | undefined {
    let node: DiskNode | undefined = this.#folder
    for (const part of parts) node = node instanceof DiskFolder ? node.names.get(part) : undefined
    return node
  }
}

interface Image {
  readonly damage: Damage
  readonly random: Random
  /** The path that each file has in the image, for its further names. */
  readonly written: Map<DiskFile, string>
}

async function writeFolder(folder: DiskFolder, target: string, image: Image): Promise<void> {
  await mkdir(target, { recursive: true, mode: 0o700 })
  for (const [name, node] of folder.namesAfter(image.damage, image.random)) {
    const path = join(target, name)
    if (node instanceof DiskFolder) await writeFolder(node, path, image)
    else await writeImageFile(node, path, image)
  }
}

async function writeImageFile(file: DiskFile, path: string, { damage, random, written }: Image): Promise<void> {
  const other = written.get(file)
  if (other !== undefined) return link(other, path)
  written.set(file, path)
  await writeFile(path, file.bytesAfter(damage, random), { mode: 0o600 })
}
