import type { KeyObject } from 'node:crypto'
import { equalBytes } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import {
  checkSignature,
  parseBlock,
  parseOpening,
  publicKeyBytes,
  type LedgerBlock,
  type LedgerOpening,
  type Signed,
} from './block.ts'

/** Follows a ledger line by line: each must be well-formed, hash to what it says, and follow the one before. */
export class LedgerChain {
  readonly #publicKey: KeyObject
  #opening: LedgerOpening | undefined
  #last: Pick<LedgerBlock, 'height' | 'time' | 'hash'> | undefined
  #blocks = 0

  constructor(publicKey: KeyObject) {
    this.#publicKey = publicKey
  }

  /** Throws `CORRUPT` before the first line was taken. */
  get opening(): LedgerOpening {
    return this.#opening ?? missing()
  }

  /** Height, time and hash of the last block, or of the opening, whose height is 0. */
  get last(): Pick<LedgerBlock, 'height' | 'time' | 'hash'> {
    return this.#last ?? missing()
  }

  get blocks(): number {
    return this.#blocks
  }

  /** Takes the first line, its signature checked. Throws `VERIFICATION_FAILED`. */
  open(line: Uint8Array): void {
    const opening = parseOpening(line)
    checkSignature(opening, this.#publicKey)
    if (!equalBytes(opening.content.publicKey, publicKeyBytes(this.#publicKey)))
      throw new RegistryError('VERIFICATION_FAILED', 'The ledger names another public key')
    this.#opening = opening.content
    this.#last = { height: 0, time: opening.content.genesis, hash: opening.content.hash }
  }

  /** Takes the next line; its signature is the caller's to check. Throws `VERIFICATION_FAILED`. */
  parse(line: Uint8Array): Signed<LedgerBlock> {
    const block = parseBlock(line)
    this.add(block.content)
    return block
  }

  /** Throws `VERIFICATION_FAILED` where the block does not follow. */
  add(block: LedgerBlock): void {
    const { previous, height, time } = block
    const last = this.last
    if (previous !== last.hash) throw unlinked('hash')
    if (height <= last.height) throw unlinked('height')
    if (time < last.time) throw unlinked('time')
    this.#last = block
    this.#blocks += 1
  }
}

const missing = (): never => {
  throw new RegistryError('CORRUPT', 'The ledger has no opening line: restore the file from a backup')
}

const unlinked = (what: string): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `The block's ${what} does not follow that of the line before it`)
