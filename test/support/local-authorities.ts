import { join } from 'node:path'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import type { Assurance, Clock, ValidationData } from '../../core/ports/index.ts'
import { ScriptedAuthority } from './scripted-authority.ts'

export interface LocalAuthorityOptions {
  readonly name: string
  readonly assurance?: Assurance
  /** The difference of its clock from the given one, ms. */
  readonly skewMs?: number
  /** The names of other authorities, whose CAs it trusts as well. */
  readonly trusts?: readonly string[]
  /** Returned for each token. */
  readonly validationData?: readonly ValidationData[]
}

/** Opens authorities that have their own CAs. Their files are below `directory`, and created at the first call. */
export const openAuthorities = (
  directory: string,
  clock: Pick<Clock, 'now'>,
  authorities: readonly LocalAuthorityOptions[],
): Promise<readonly ScriptedAuthority[]> =>
  Promise.all(
    authorities.map(async ({ name, assurance = 'operator', skewMs = 0, trusts = [], validationData = [] }) => {
      const skewed = { now: () => clock.now() + skewMs, sleep: async () => {} }
      const local = await openLocalTsa(join(directory, name), { clock: skewed, keepsLastStamp: false })
      const others = await Promise.all(
        trusts.map((other) => openLocalTsa(join(directory, other), { keepsLastStamp: false })),
      )
      const trustAnchors = [local, ...others].flatMap(({ info }) => info.trustAnchors)
      return Object.assign(new ScriptedAuthority(local, { name, assurance, trustAnchors }), { validationData })
    }),
  )
