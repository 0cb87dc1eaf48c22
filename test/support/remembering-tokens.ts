import { sha256Of, toHex } from '../../core/bytes.ts'
import type { TokenVerifier } from '../../core/verify/index.ts'
import { tokens, type VerifiedToken } from '../../core/verify/tokens.ts'

const MAX_REMEMBERED = 10_000

/**
 * Checks equal tokens only once, because nearly every proof holds the same few: 20 times as fast. A repeated check
 * costs the same signature checks.
 */
export function rememberingTokens(): TokenVerifier {
  const results = new Map<string, { readonly result: () => VerifiedToken; readonly cost: number }>()
  const certificates = new Map<string, readonly Uint8Array[]>()
  return {
    verifyToken(der, options) {
      const data = 'data' in options ? options.data : options.digest
      const pieces = options.validationData.map((piece) => piece.der)
      const parts = [der, data, ...options.trustAnchors, ...pieces].map((part) => sha256Of(part))
      const key = `${toHex(sha256Of(...parts))} ${options.renewedAt ?? ''}`
      const known = results.get(key)
      if (known !== undefined) {
        for (let i = 0; i < known.cost; i++) options.budget.spend()
        return known.result()
      }
      const usedBefore = options.budget.used
      const result = attempt(() => tokens.verifyToken(der, options))
      if (results.size >= MAX_REMEMBERED) results.clear()
      results.set(key, { result, cost: options.budget.used - usedBefore })
      return result()
    },
    certificatesIn(der) {
      const key = toHex(sha256Of(der))
      const known = certificates.get(key) ?? tokens.certificatesIn(der)
      if (certificates.size >= MAX_REMEMBERED) certificates.clear()
      certificates.set(key, known)
      return known
    },
  }
}

/** Runs it now, and returns or throws later what it returned or threw. */
function attempt<T>(check: () => T): () => T {
  try {
    const result = check()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}
