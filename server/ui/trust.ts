import { fingerprintOf } from './components/fingerprint.tsx'
import { createStore } from './components/store.ts'
import type { Outcome } from './pages/verify-document.ts'

/** The registry of this page, as the user trusts it on this device. */
export interface Trust {
  /** Of its log. It commits to the first key, and each key signed the next one. */
  readonly id: string
  /** RFC 3339. */
  readonly since: string
}

// There may be several registries below one address.
const STORAGE_KEY = `evidence-registry.trust ${new URL('.', document.baseURI).pathname}`

function stored(): Trust | undefined {
  // A saved page belongs to no registry.
  if (location.protocol === 'file:') return undefined
  const [id, since] = localStorage.getItem(STORAGE_KEY)?.split(' ') ?? []
  return id && since ? { id, since } : undefined
}

const trusted = createStore(stored())

/** What the user trusts, also when that changes. */
export const useTrust = trusted.use

/** Trusts the log of a proof that was verified. */
export function trustLog(origin: string): void {
  localStorage.setItem(STORAGE_KEY, `${fingerprintOf(origin).id} ${new Date().toISOString()}`)
  trusted.set(stored())
}

export function forgetTrust(): void {
  localStorage.removeItem(STORAGE_KEY)
  trusted.set(undefined)
}

const isOfTrusted = ({ id }: Trust, origin: string): boolean => fingerprintOf(origin).id === id

/** Whether all of a proof is signed by keys that follow from the trusted log. What is not sealed is signed by none. */
export const isTrusted = (trust: Trust | undefined, { state, claims }: Outcome): trust is Trust =>
  state === 'consistent' && trust !== undefined && claims !== undefined && isOfTrusted(trust, claims.origin)

/** Whether what the trusted registry should have sent is of another log, or of keys that do not follow from it. */
export function isOfStranger(trust: Trust | undefined, { claims, steps }: Outcome): trust is Trust {
  if (trust === undefined) return false
  if (claims !== undefined) return !isOfTrusted(trust, claims.origin)
  return steps.some(({ name, state }) => state === 'failed' && (name === 'keys' || name === 'checkpoint'))
}
