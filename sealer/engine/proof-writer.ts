import type { ProofBlock, ProofFormat } from '../../core/ports.ts'
import { HASH_BYTES } from '../../core/tree/hasher.ts'
import { ProofCopier, proofBytesOf } from '../kernel/proofs.ts'
import type { Module } from '../kernel/webassembly.ts'

/** Writes the proofs of blocks in either format; engines and workers have one each. */
export class ProofWriter {
  readonly #copier: ProofCopier

  constructor(module: Module) {
    this.#copier = new ProofCopier(module)
  }

  /** All proofs of the blocks, in new bytes. Throws a RangeError where a tile does not hold its block. */
  write(blocks: readonly ProofBlock[], format: ProofFormat): Uint8Array {
    const sizeOf = format === 'packed' ? proofBytesOf : lineBytesOf
    const out = new Uint8Array(blocks.reduce((sum, block) => sum + sizeOf(block), 0))
    let at = 0
    for (const block of blocks) {
      const proofs = this.#copier.copy(block)
      if (format === 'packed') out.set(proofs, at)
      else writeLines(out, at, block, proofs)
      at += sizeOf(block)
    }
    return out
  }
}

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))
const LEAF = ascii('{"leafIndex":')
const ENTRY = ascii(',"entry":"')
const PROOF = ascii('","proof":[')
const END = ascii(']}\n')
const [QUOTE, COMMA] = [0x22, 0x2c]
/** The two digits of each byte. */
const HEX = Uint8Array.from({ length: 512 }, (_, i) =>
  (i % 2 === 0 ? i >> 5 : (i >> 1) & 15).toString(16).charCodeAt(0),
)
const HEX_HASH = 2 * HASH_BYTES

/** Bytes of a block's lines: only the digits of their leaf indexes differ in length. */
function lineBytesOf({ first, end, levels, above }: ProofBlock): number {
  const items = levels + above.length / HASH_BYTES
  const itemBytes = items * (HEX_HASH + 3) - Math.min(items, 1)
  const fixed = LEAF.length + ENTRY.length + HEX_HASH + PROOF.length + itemBytes + END.length
  let digits = 0
  for (let leaf = first; leaf < end; leaf++) digits += String(leaf).length
  return (end - first) * fixed + digits
}

/** Byte by byte into the output: no string a proof, which would cost more than all the rest. */
function writeLines(out: Uint8Array, from: number, { first, end, entries }: ProofBlock, proofs: Uint8Array): void {
  const proofBytes = proofs.length / (end - first)
  let at = from
  const put = (bytes: Uint8Array): void => {
    out.set(bytes, at)
    at += bytes.length
  }
  const putHash = (bytes: Uint8Array, start: number): void => {
    for (let i = start; i < start + HASH_BYTES; i++) {
      const digit = (bytes[i] ?? 0) * 2
      out[at++] = HEX[digit] ?? 0
      out[at++] = HEX[digit + 1] ?? 0
    }
  }
  for (let i = 0; i < end - first; i++) {
    put(LEAF)
    put(ascii(String(first + i)))
    put(ENTRY)
    putHash(entries, i * HASH_BYTES)
    put(PROOF)
    for (let item = 0; item < proofBytes; item += HASH_BYTES) {
      if (item > 0) out[at++] = COMMA
      out[at++] = QUOTE
      putHash(proofs, i * proofBytes + item)
      out[at++] = QUOTE
    }
    put(END)
  }
}
