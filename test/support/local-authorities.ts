import { join } from 'node:path'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import type { Assurance, Clock } from '../../core/ports.ts'
import { ScriptedAuthority } from './scripted-authority.ts'

export interface LocalAuthorityOptions {
  readonly name: string
  readonly assurance?: Assurance
  /** Its clock is so far from the given one, ms. */
  readonly skewMs?: number
}

/** Authorities with CAs of their own, below a directory, whose files are made at the first time. */
export const openAuthorities = (
  directory: string,
  clock: Pick<Clock, 'now'>,
  terms: readonly LocalAuthorityOptions[],
): Promise<readonly ScriptedAuthority[]> =>
  Promise.all(
    terms.map(async ({ name, assurance = 'operator', skewMs = 0 }) => {
      const skewed = { now: () => clock.now() + skewMs, sleep: async () => {} }
      return new ScriptedAuthority(await openLocalTsa(join(directory, name), { clock: skewed }), { name, assurance })
    }),
  )
