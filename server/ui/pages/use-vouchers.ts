import { useLoad } from '../components/use-load.ts'
import { publicClient } from '../session.ts'

/** Whether the registry has a timestamp authority and a chain, also its own test ones. */
export interface Vouchers {
  readonly hasAuthority: boolean
  readonly hasChain: boolean
}

/** Reads from the policy what vouches for the time of the log. `undefined` until it is known. */
export function useVouchers(): Vouchers | undefined {
  const { loaded } = useLoad((signal) => publicClient.getPolicy({}, { signal }), [])
  if (loaded.state !== 'done') return undefined
  const { timestampAuthorities, chains } = loaded.value
  return { hasAuthority: timestampAuthorities.length > 0, hasChain: chains.length > 0 }
}
