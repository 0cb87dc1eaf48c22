import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import type { Bundle } from '../../core/schemas/bundle.ts'
import { openLogIdentity } from '../../core/log/identity.ts'
import type { Anchor } from '../../core/ports/index.ts'
import { parsePolicy, type Policy } from '../../core/verify/policy.ts'
import { openAuthorities, type LocalAuthorityOptions } from './local-authorities.ts'
import { until } from './manual-clock.ts'
import { openFixture, Stores, type Fixture } from './registry-fixture.ts'
import type { ScriptedAuthority } from './scripted-authority.ts'
import { SyntheticEvm } from './synthetic-evm.ts'
import { testSigner } from './test-signer.ts'

export interface BundleRegistryOptions {
  /** For the files of the authorities and of the ledger. */
  readonly directory: string
  readonly anchor?: 'local' | 'evm' | 'none'
  /** Default: one. `[]`: none. */
  readonly authorities?: readonly LocalAuthorityOptions[]
  readonly quorum?: number
  /** At least so long between two stamps and two anchors, so that some are later than their batch. Default: 0. */
  readonly intervalMs?: number
  /** Of a registry that ran before. Default: new ones. */
  readonly stores?: Stores
}

/** A registry whose bundles hold real tokens and anchors. */
export interface BundleRegistry extends Fixture, Omit<Stores, 'keysOf' | 'blobState'> {
  readonly authorities: readonly ScriptedAuthority[]
  /** Seals, stamps and anchors all that was written. */
  readonly settle: () => Promise<void>
  /** Adds a checkpoint key, which signs from the next batch on. */
  readonly rotate: (options?: { readonly compromised: boolean }) => Promise<void>
  readonly policy: () => Promise<Policy>
  readonly history: (fields?: 'all' | 'none', files?: 'all' | 'none', externalId?: string) => Promise<Bundle>
  readonly anyone: (evidenceId: string, fileId?: string) => Promise<Bundle>
}

export async function openBundleRegistry(options: BundleRegistryOptions): Promise<BundleRegistry> {
  const { directory, anchor = 'local', authorities = [{ name: 'tsa' }], quorum, intervalMs = 0 } = options
  const { stores = new Stores() } = options
  const { clock, records, blobs, signedHead, secret } = stores
  const timestampAuthorities = await openAuthorities(directory, clock, authorities)
  const anchors: Readonly<Record<typeof anchor, () => Promise<Anchor | undefined>>> = {
    local: () => openLocalLedger(`${directory}/ledger`, { clock }),
    evm: async () => new SyntheticEvm(clock.now()),
    none: async () => undefined,
  }
  const chain = await anchors[anchor]()
  const fixture = await openFixture({
    stores,
    sealer: {
      ...(chain && { anchor: chain }),
      ...(timestampAuthorities.length > 0 && { timestampAuthorities }),
      ...(quorum !== undefined && { quorum }),
      pollIntervalMs: 1_000,
      tsaIntervalMs: intervalMs,
      anchorIntervalMs: intervalMs,
    },
  })
  const { registry, scope } = fixture
  return {
    ...fixture,
    records,
    blobs,
    signedHead,
    secret,
    authorities: timestampAuthorities,
    settle: async () => {
      await registry.sealNow()
      let rounds = 0
      await until(async () => {
        // Short steps while the first stamp and anchor can be in progress, then whole intervals.
        await clock.advance(Math.max(2_000, rounds++ < 100 ? 0 : intervalMs))
        const { sealedSize, stampedSize, anchoredSize } = registry.status()
        const isStamped = timestampAuthorities.length === 0 || stampedSize === sealedSize
        return isStamped && (chain === undefined || anchoredSize === sealedSize)
      })
    },
    rotate: async (rotation) => {
      const identity = await openLogIdentity({ records, secret, clock, signer: testSigner() })
      await identity.rotateCheckpointKey(rotation)
    },
    policy: async () => parsePolicy(JSON.stringify(await registry.log.policy())),
    history: (fields = 'all', files = 'all', externalId = 'e-1') =>
      registry.proofs.bundle(scope, { externalId, fields, files }),
    anyone: async (evidenceId, fileId) => {
      const result = await registry.proofs.publicBundle({ evidenceId, ...(fileId !== undefined && { fileId }) })
      if (result.status !== 'ok') throw new Error(result.error)
      return result.bundle
    },
  }
}
