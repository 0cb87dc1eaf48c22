import { createHash } from 'node:crypto'
import type { VerifyTokenOptions } from '../../../core/verify/timestamp.ts'
import type { TokenVerifier } from '../../../core/verify/token-verifier.ts'
import { tokens } from '../../../core/verify/tokens.ts'

/**
 * The verifier of tokens, which verifies the same bytes with the same options only once. Nearly every proof of every
 * case holds the same few tokens, and most of the time would go into them.
 */
export function cachedTokens(): TokenVerifier {
  const verified = cachedCalls(tokens.verifyToken)
  const certificates = cachedCalls(tokens.certificatesIn)
  return {
    verifyToken: (der, options) => verified(keyOfToken(der, options), der, options),
    certificatesIn: (der) => certificates(digestOf(der), der),
  }
}

/** Remembers what a function returned or threw, by a key. */
function cachedCalls<A extends readonly unknown[], R>(call: (...args: A) => R): (key: string, ...args: A) => R {
  const results = new Map<string, () => R>()
  return (key, ...args) => {
    const known = results.get(key) ?? outcomeOf(() => call(...args))
    if (results.size < MAX_RESULTS) results.set(key, known)
    return known()
  }
}

/** A damaged token makes a new key, so a long run would fill the memory. */
const MAX_RESULTS = 10_000

function outcomeOf<R>(call: () => R): () => R {
  try {
    const result = call()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** The budget is not part of it: no document comes near it. */
function keyOfToken(der: Uint8Array, options: VerifyTokenOptions): string {
  const { trustAnchors, validationData, renewedAt } = options
  const stamped = 'data' in options ? options.data : options.digest
  const pieces = validationData.map((piece) => [piece.type, digestOf(piece.der)])
  return JSON.stringify([digestOf(der), digestOf(stamped), trustAnchors.map(digestOf), pieces, renewedAt ?? null])
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64')
