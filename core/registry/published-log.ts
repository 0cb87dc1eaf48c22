import type { LogPolicy } from '../schemas/bundle.ts'
import type { PublishedLog } from '../api/log.ts'
import { toHex, toBase64 } from '../bytes.ts'
import type { LogIdentity } from '../log/identity.ts'
import { TILE_WIDTH } from '../log/tree/tile.ts'
import { batchPage } from './batches.ts'
import type { Context } from './context.ts'
import type { SealerStatus, SealerTrust } from '../ports/index.ts'
import { invalidInput } from '../schemas/validation.ts'

/** The part of the log that anyone may read. */
export function publishedLog(
  context: Pick<Context, 'records' | 'log'>,
  { identity, trust }: { readonly identity: LogIdentity; readonly trust: SealerTrust },
  status: () => Pick<SealerStatus, 'sealedSize'>,
): PublishedLog {
  const { log } = context
  /** Another process may have sealed more than this one knows. */
  const assertSealed = async (name: string, size: number): Promise<void> => {
    if (size > status().sealedSize) assertInteger(name, size, (await log.treeHead()).size)
    else assertInteger(name, size)
  }
  const policy = async (): Promise<LogPolicy> => {
    // Another process may have added a key.
    await identity.refresh()
    return logPolicy(identity, trust)
  }
  return {
    origin: identity.origin,
    get verifierKey() {
      return identity.verifierKey
    },
    policy,
    policyText: async () => logPolicyText(await policy()),
    latestCheckpoint: async () => (await log.latestCheckpoint())?.note,
    checkpoint: async (treeSize) => {
      assertInteger('treeSize', treeSize)
      return (await log.checkpoint(treeSize))?.note
    },
    tile: async ({ level, index, width }) => {
      assertInteger('level', level)
      assertBundle({ index, width })
      return log.sealed.hashes(level, index, width)
    },
    entryBundle: async ({ index, width }) => {
      assertBundle({ index, width })
      return log.sealed.entries(index, width)
    },
    openings: async ({ index, width }) => {
      assertBundle({ index, width })
      return (await log.sealed.openings(index, width))?.map(toHex)
    },
    inclusionProof: async ({ leafIndex, treeSize }) => {
      await assertSealed('treeSize', treeSize)
      assertInteger('leafIndex', leafIndex, treeSize - 1)
      return log.inclusionProof(leafIndex, treeSize)
    },
    consistencyProof: async ({ from, to }) => {
      await assertSealed('to', to)
      assertInteger('from', from, to)
      return log.consistencyProof(from, to)
    },
    batchById: (batchId) => log.batchById(batchId),
    batches: (query) => batchPage(context, query),
    proofBlocks: (range) => log.proofBlocks(range),
  }
}

interface Bundle {
  readonly index: number
  readonly width: number
}

function assertBundle({ index, width }: Bundle): void {
  assertInteger('index', index)
  assertInteger('width', width, TILE_WIDTH)
  if (width === 0) throw invalidInput('width', 'must be at least 1')
}

function assertInteger(name: string, value: number, max = Number.MAX_SAFE_INTEGER): void {
  if (!Number.isSafeInteger(value) || value < 0 || value > max)
    throw invalidInput(name, `must be an integer of 0 to ${max}, not ${value}`)
}

/** What a verifier pins: `GET /log/policy`. In a bundle it is the registry's own word. */
export function logPolicy({ origin, keys }: Pick<LogIdentity, 'origin' | 'keys'>, trust: SealerTrust): LogPolicy {
  const { quorum, authorities, chain } = trust
  return {
    origin,
    keys: keys.map(({ verifierKey, position }, i) => ({
      vkey: verifierKey,
      from: position + 1,
      until: keys[i + 1]?.position ?? null,
    })),
    witnesses: [],
    groups: [],
    quorum: 'none',
    timestampAuthorities: authorities.map(({ name, trustAnchors }) => ({
      name,
      trustAnchors: trustAnchors.map(pemOf),
    })),
    timestampQuorum: Math.max(1, quorum),
    chains:
      chain?.account === undefined
        ? []
        : [{ type: chain.type, network: chain.network, chainId: chain.chainId, account: chain.account }],
  }
}

/** The same keys and witnesses as C2SP tlog-policy text. */
export const logPolicyText = ({ keys, witnesses, groups, quorum }: LogPolicy): string =>
  [
    ...keys.map(({ vkey }) => `log ${vkey}`),
    ...witnesses.map(({ name, vkey, url }) => ['witness', name, vkey, ...(url === undefined ? [] : [url])].join(' ')),
    ...groups.map(({ name, threshold, members }) => ['group', name, threshold, ...members].join(' ')),
    `quorum ${quorum}`,
    '',
  ].join('\n')

function pemOf(der: Uint8Array): string {
  const lines = toBase64(der).match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
