import { encodeUtf8, fromBase64, toBase64 } from '../bytes.ts'
import { verificationError } from '../errors.ts'
import { parseCheckpointText } from './checkpoint.ts'
import { parseNote } from './note.ts'
import { HASH_BYTES } from './tree/hash.ts'
import { inclusionRanges } from './tree/proof.ts'

/** Proofs that an entry is in a log, as text (https://c2sp.org/tlog-proof). */

/** A proof of one entry. */
export interface TlogProof {
  /** What the application adds. The proof does not authenticate it. */
  readonly extra?: Uint8Array | undefined
  /** Position of the entry in the log. */
  readonly index: number
  /** Hashes from the leaf's sibling to the child of the root (RFC 9162 § 2.1.3). */
  readonly path: readonly Uint8Array[]
  /** The whole signed note, with cosignatures. */
  readonly checkpoint: string
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
const HEADER = /^c2sp\.org\/tlog-proof@v1\n(?:extra (\S+)\n)?index (0|[1-9]\d{0,15})\n((?:\S+\n){0,64})\n/
const MAX_LINE_BYTES = 64 * 1024

/** Whether a text is meant as a proof of this kind. */
export const isTlogProof = (text: string): boolean => text.startsWith(FIRST_LINE)

/** Writes a proof. */
export const formatTlogProof = ({ extra, index, path, checkpoint }: TlogProof): string =>
  [
    FIRST_LINE,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${index}`,
    ...path.map(toBase64),
    '',
    checkpoint,
  ].join('\n')

const malformed = (why: string): Error => verificationError('document.format', `Not a whole tlog-proof: ${why}`)

/**
 * Parses a proof, and verifies no hash and no signature.
 *
 * @param text May come from an attacker.
 * @throws `VERIFICATION_FAILED` if it is malformed, or its path has not the length of one of this entry
 */
export function parseTlogProof(text: string): TlogProof {
  const [header, extraText, indexText, hashes = ''] = HEADER.exec(text) ?? []
  if (header === undefined) throw malformed('it does not begin with the lines of a proof and an empty line')
  if (text.split('\n').some((line) => encodeUtf8(line).length > MAX_LINE_BYTES))
    throw malformed(`a line has more than ${MAX_LINE_BYTES} bytes`)
  const extra = extraText === undefined ? undefined : bytesOf(extraText)
  const path = hashes.split('\n').slice(0, -1).map(bytesOf)
  if (path.some(({ length }) => length !== HASH_BYTES)) throw malformed(`a hash must have ${HASH_BYTES} bytes`)
  const checkpoint = text.slice(header.length)
  const { size } = parseCheckpointText(parseNote(checkpoint).text)
  const index = Number(indexText)
  if (index >= size || inclusionRanges(index, size).length !== path.length)
    throw verificationError('inclusion.root-differs', `Entry ${index} of a tree of ${size} has no path of this length`)
  return { extra, index, path, checkpoint }
}

function bytesOf(base64: string): Uint8Array {
  const bytes = fromBase64(base64)
  if (bytes === undefined) throw malformed('a line is not canonical base64')
  return bytes
}
