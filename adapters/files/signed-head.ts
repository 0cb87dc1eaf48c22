import {
  decodeUtf8,
  encodeUtf8,
  fromHex,
  RegistryError,
  sha256,
  toHex,
  type SignedHead,
  type SignedHeadKeeper,
} from '../kit/index.ts'
import { nodeFiles, replaceFile, type FileOperations } from './durable.ts'
import { ifExists, rethrowAs } from './errors.ts'

/**
 * Keeps the last signed size and root of the log in a small file of one JSON line (0600), which each write replaces and
 * syncs. The line has a checksum, so that a flipped digit is not taken for a head that was signed.
 *
 * @example
 * ```ts
 * const keeper = new FileSignedHead('/var/lib/evidence/signed-head')
 * const head = await keeper.read() // undefined if the file does not exist
 * ```
 */
export class FileSignedHead implements SignedHeadKeeper {
  readonly #path: string
  readonly #files: FileOperations
  /** The previous write. Writes run one after the other, so that the last call determines the content. */
  #lastWrite: Promise<void> = Promise.resolve()

  /** @param path path of the file, in a directory that exists */
  constructor(path: string, { files = nodeFiles }: { readonly files?: FileOperations } = {}) {
    this.#path = path
    this.#files = files
  }

  /**
   * Reads the head. Returns `undefined` only if the file does not exist.
   *
   * @throws RegistryError `CORRUPT` if the file holds anything but a head, `UNAVAILABLE` if it cannot be read
   */
  async read(): Promise<SignedHead | undefined> {
    const content = ifExists(this.#files.readFile(this.#path))
    const bytes = await content.catch(rethrowAs('UNAVAILABLE', `${this.#path} could not be read`))
    if (bytes === undefined) return undefined
    const head = parse(bytes)
    if (head !== undefined) return head
    throw new RegistryError(
      'CORRUPT',
      `${this.#path} does not hold the last signed log size and root. It detects a record store that was set back. ` +
        'Restore it from a backup. If there is none, remove it and adopt that of another copy (adoptSignedHead, ' +
        'evidence-registry adopt head)',
    )
  }

  /**
   * Replaces the head.
   *
   * @throws RegistryError `UNAVAILABLE` if writing failed. The file then holds the old head, or, if only the last sync
   *   failed, perhaps the new one: write again.
   */
  write(head: SignedHead): Promise<void> {
    const bytes = encodeUtf8(format(head))
    const written = this.#lastWrite.then(() => replaceFile(this.#files, this.#path, bytes))
    this.#lastWrite = written.catch(() => undefined)
    return written.catch(rethrowAs('UNAVAILABLE', `${this.#path} could not be written`))
  }
}

/** Formats a head; every head has exactly one text. Requires counts >= 0 and a root of 32 bytes. */
function format({ size, root, erasures }: SignedHead): string {
  if (![size, erasures ?? 0].every((count) => Number.isSafeInteger(count) && count >= 0) || root.length !== 32)
    throw new TypeError('A signed head must have counts >= 0 and a root of 32 bytes')
  const rootHex = toHex(root)
  const text = [size, rootHex, ...(erasures === undefined ? [] : [erasures])].join(' ')
  const checksum = toHex(sha256(encodeUtf8(text)))
  return `${JSON.stringify({ size, root: rootHex, erasures, sha256: checksum })}\n`
}

/**
 * Returns the head with exactly this text, or `undefined`. The operator owns the file, but disks fail and people edit
 * files.
 */
function parse(bytes: Uint8Array): SignedHead | undefined {
  try {
    const text = decodeUtf8(bytes)
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || !('size' in value) || !('root' in value)) return undefined
    if (typeof value.size !== 'number' || typeof value.root !== 'string') return undefined
    const root = fromHex(value.root)
    if (root === undefined) return undefined
    const erasures = 'erasures' in value ? value.erasures : undefined
    if (erasures !== undefined && typeof erasures !== 'number') return undefined
    const head = { size: value.size, root, ...(erasures !== undefined && { erasures }) }
    return format(head) === text ? head : undefined
  } catch {
    return undefined
  }
}
