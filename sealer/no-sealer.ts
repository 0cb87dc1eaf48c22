import { systemClock } from '../core/clock.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { Clock, RecordStore } from '../core/ports/index.ts'
import { readAll } from '../core/store/read.ts'
import { LEASE_MS } from './lease.ts'

/**
 * Checks that no sealer runs on these records, for a program that copies a store: what a server writes meanwhile would
 * be in the source only. If there is a lease, it waits for the lease time, in which a running sealer renews it.
 *
 * @returns checks that none has run since
 * @throws RegistryError `UNAVAILABLE` if one runs or has run
 */
export async function assertNoSealer(
  records: RecordStore,
  { clock = systemClock, leaseMs = LEASE_MS }: { readonly clock?: Clock; readonly leaseMs?: number } = {},
): Promise<() => Promise<void>> {
  const version = async () => (await readAll(records, [logKeys.sealerLease()]))[0]?.version
  const found = await version()
  const assertSame = async (): Promise<void> => {
    if ((await version()) !== found)
      throw new RegistryError('UNAVAILABLE', 'A server runs on these records: stop all servers, then try again')
  }
  if (found !== undefined) await clock.sleep(leaseMs)
  await assertSame()
  return assertSame
}
