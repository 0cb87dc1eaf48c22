import { Constructed, fromBER, Sequence, Set as AsnSet, type BaseBlock } from 'asn1js'
import { isRegistryError, verificationError } from '../errors.ts'

/**
 * Reads ASN.1 with asn1js, which limits the depth and the number of values. The input may be an attacker's: the caller
 * limits its length.
 */

/** Parses exactly one BER value. Throws `VERIFICATION_FAILED`; `what` names the input in the message. */
export function parseAsn1(bytes: Uint8Array, what: string): BaseBlock {
  // A copy, because asn1js keeps views of its input.
  const { offset, result } = fromBER(bytes.slice())
  if (offset === -1) throw verificationError(`${what} is not ASN.1: ${result.error}`)
  if (offset !== bytes.length) throw verificationError(`${what} is followed by ${bytes.length - offset} more bytes`)
  return result
}

/** The values inside a constructed value. Empty for a primitive value and for `undefined`. */
export function childrenOf(block: BaseBlock | undefined): readonly BaseBlock[] {
  return block instanceof Sequence || block instanceof AsnSet || block instanceof Constructed
    ? block.valueBlock.value
    : []
}

/**
 * Returns the result of `parse`. The parsers throw errors of many kinds for malformed input: each becomes
 * `VERIFICATION_FAILED`.
 */
export function withParserErrors<T>(what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw isRegistryError(error) ? error : verificationError(`${what} is malformed`, error)
  }
}
