import { decodeUtf8, encodeUtf8, fromHex, sha256, toHex } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import type { SignedHead, SignedHeadKeeper } from '../../core/ports.ts'
import { errnoOf, nodeFiles, replaceFile, type FileOperations } from './durable.ts'

/**
 * The last signed size and root in a small file of one JSON line (0600), replaced whole and synced. It carries a checksum:
 * a flipped digit must not pass for a head that was never signed. The directory must exist.
 */
export class FileSignedHead implements SignedHeadKeeper {
  readonly #path: string
  readonly #files: FileOperations
  /** Writes one after the other: the last one asked for is the one that stays. */
  #last: Promise<void> = Promise.resolve()

  constructor(path: string, { files = nodeFiles }: { readonly files?: FileOperations } = {}) {
    this.#path = path
    this.#files = files
  }

  /** `undefined` only where the file is not there. Throws `CORRUPT` where it holds anything but a head, `UNAVAILABLE` where it cannot be read. */
  async read(): Promise<SignedHead | undefined> {
    let bytes: Uint8Array
    try {
      bytes = await this.#files.readFile(this.#path)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw this.#unavailable('read', error)
    }
    const head = parse(bytes)
    if (head !== undefined) return head
    throw new RegistryError(
      'CORRUPT',
      `${this.#path} does not hold the last signed log size and root. Restore it from a backup. It shows whether the record ` +
        'store was set back: remove it only if you know that the store has lost nothing',
    )
  }

  /** Throws `UNAVAILABLE` where the file holds the old head, or, if only the last sync failed, perhaps the new one; write again. */
  write(head: SignedHead): Promise<void> {
    const bytes = encodeUtf8(format(head))
    const written = this.#last.then(() => replaceFile(this.#files, this.#path, bytes))
    this.#last = written.catch(() => undefined)
    return written.catch((error: unknown) => {
      throw this.#unavailable('written', error)
    })
  }

  #unavailable(what: 'read' | 'written', cause: unknown): RegistryError {
    const reason = errnoOf(cause) ?? String(cause)
    return new RegistryError('UNAVAILABLE', `${this.#path} could not be ${what} (${reason}); check the disk`, { cause })
  }
}

/** The one text of a head. Requires a size >= 0 and a root of 32 bytes. */
function format({ size, root }: SignedHead): string {
  if (!Number.isSafeInteger(size) || size < 0 || root.length !== 32)
    throw new TypeError('A signed head has a size >= 0 and a root of 32 bytes')
  const rootHex = toHex(root)
  const checksum = toHex(sha256(encodeUtf8(`${size} ${rootHex}`)))
  return `${JSON.stringify({ size, root: rootHex, sha256: checksum })}\n`
}

/** The head whose one text these bytes are. The file is the operator's, but disks fail and people edit. */
function parse(bytes: Uint8Array): SignedHead | undefined {
  try {
    const text = decodeUtf8(bytes)
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || !('size' in value) || !('root' in value)) return undefined
    if (typeof value.size !== 'number' || typeof value.root !== 'string') return undefined
    const root = fromHex(value.root)
    if (root === undefined) return undefined
    const head = { size: value.size, root }
    return format(head) === text ? head : undefined
  } catch {
    return undefined
  }
}
