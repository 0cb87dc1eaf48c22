import type { LogPolicy } from '../schemas/bundle.ts'
import type { PublishedLog } from '../api/log.ts'
import { toHex } from '../bytes.ts'
import type { KeyInLog, LogIdentity } from '../log/identity.ts'
import { entryOfTxId, type LogReader } from '../log/reader.ts'
import {
  accountsWith,
  periodsWith,
  mergedRanges,
  rulesOf,
  type Ranged,
  type TreeRange,
} from '../log/attestation-rules.ts'
import { withSignatures } from '../log/note.ts'
import { formatTypedKey } from '../log/verifier-key.ts'
import type { CheckpointRecord, StampRules } from '../log/records.ts'
import { TILE_WIDTH } from '../log/tree/tile.ts'
import { batchPage } from './batches.ts'
import type { Context } from './context.ts'
import { rfc3339 } from './proof/log-proof.ts'
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
    if (size > status().sealedSize) assertInteger(name, size, (await log.tree.head()).size)
    else assertInteger(name, size)
  }
  const policy = async (): Promise<LogPolicy> => {
    // Another process may have added a key.
    await identity.refresh()
    return logPolicy(log, { identity, trust })
  }
  /** The note with the newest cosignature of each witness. */
  const cosigned = async (checkpoint: CheckpointRecord | undefined): Promise<string | undefined> =>
    checkpoint && withSignatures(checkpoint.note, await log.checkpoints.cosignatures(checkpoint.size, 'newest'))
  return {
    origin: identity.origin,
    get verifierKey() {
      return identity.verifierKey
    },
    policy,
    policyText: async () => logPolicyText(await policy()),
    latestCheckpoint: async () => (await log.checkpoints.latest())?.note,
    publishedCheckpoint: async () => cosigned(await log.checkpoints.shown()),
    checkpoint: async (treeSize) => {
      assertInteger('treeSize', treeSize)
      return cosigned(await log.checkpoints.ofSize(treeSize))
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
      return log.tree.inclusionProof(leafIndex, treeSize)
    },
    consistencyProof: async ({ from, to }) => {
      await assertSealed('to', to)
      assertInteger('from', from, to)
      return log.tree.consistencyProof(from, to)
    },
    batchById: (batchId) => log.batchById(batchId),
    batches: (query) => batchPage(context, query),
    proofBlocks: (range) => log.tree.proofBlocks(range),
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

interface PolicySources {
  readonly identity: Pick<LogIdentity, 'origin' | 'keys'>
  readonly trust: SealerTrust
}

const NO_WITNESSES: NonNullable<SealerTrust['witnesses']> = { witnesses: [], groups: [], quorum: 'none' }

/** What a verifier pins: `GET /log/policy`. In a bundle it is the registry's own word. */
export async function logPolicy(log: LogReader, { identity, trust }: PolicySources): Promise<LogPolicy> {
  const { origin, keys } = identity
  const { submissionKey, ...witnessPolicy } = trust.witnesses ?? NO_WITNESSES
  const [{ size }, stamp, stored, anchors, submitted] = await Promise.all([
    log.tree.head(),
    log.latestStamp(),
    log.stampPeriods(),
    log.anchorHead(),
    log.checkpoints.witnesses(),
  ])
  const stampedSize = stamp?.size ?? 0
  const periods = periodsWith(stored, rulesOf(trust), stampedSize)
  const entries = periods.slice(1).map(({ entry }) => (entry === undefined ? new Uint8Array(32) : entryOfTxId(entry)))
  const ends = (await log.entryStatuses(entries)).map((status) => status?.position ?? Infinity)
  const authorities = periods.map(({ from, authorities: values }, i) => {
    const end = ends[i] ?? Infinity
    // A range ends once a stamped tree holds the entries of all its tokens, so that bundles can prove them.
    return { from, until: end < stampedSize ? end : null, values }
  })
  const quorums = periods.map(({ from, quorum }, i) => ({ from, until: endBefore(periods[i + 1]), values: [quorum] }))
  const accounts = accountsWith(anchors, trust.chain)
  const chains = accounts.map(({ from, info: { type, network, chainId, account } }, i) => ({
    from,
    until: accounts[i + 1]?.from ?? null,
    values: account === undefined ? [] : [{ type, network, chainId, account }],
  }))
  const witnesses = witnessPolicy.witnesses.map((witness) => {
    const from = submitted?.witnesses.find(({ vkey }) => vkey === witness.vkey)?.from ?? size + 1
    return { ...witness, ranges: [{ from, until: null }] }
  })
  return {
    origin,
    keys: await Promise.all(keys.map((key, i) => policyKey(log, key, { next: keys[i + 1], sealedSize: size }))),
    ...witnessPolicy,
    witnesses,
    timestampAuthorities: authoritiesOf(authorities),
    timestampQuorum: periods.at(-1)?.quorum ?? 1,
    timestampQuorums: mergedRanges(quorums).map(({ value: quorum, ranges }) => ({ quorum, ranges: [...ranges] })),
    chains: mergedRanges(chains).map(({ value, ranges }) => ({ ...value, ranges: [...ranges] })),
    ...(submissionKey && { extensions: { submissionKey: formatTypedKey(origin, submissionKey) } }),
  }
}

/**
 * The authorities, with each certificate once: with lists of which every period changed some, the policy would soon be
 * too long to be read. So an authority comes again, under its name, with what was trusted for other trees.
 */
function authoritiesOf(
  periods: readonly (TreeRange & { readonly values: StampRules['authorities'] })[],
): LogPolicy['timestampAuthorities'] {
  const anchors = mergedRanges(
    periods.map(({ values, ...range }) => ({
      ...range,
      values: values.flatMap(({ name, trustAnchors }): readonly { name: string; anchor?: string }[] =>
        trustAnchors.length === 0 ? [{ name }] : trustAnchors.map((anchor) => ({ name, anchor })),
      ),
    })),
  )
  const found = new Map<string, Ranged<string> & { readonly trustAnchors: string[] }>()
  for (const { value, ranges } of anchors) {
    const key = JSON.stringify([value.name, ranges])
    const known = found.get(key) ?? { value: value.name, trustAnchors: [], ranges }
    if (value.anchor !== undefined) known.trustAnchors.push(pemOf(value.anchor))
    found.set(key, known)
  }
  return Array.from(found.values(), ({ value: name, trustAnchors, ranges }) => ({
    name,
    trustAnchors,
    ranges: [...ranges],
  }))
}

const endBefore = (next: { readonly from: number } | undefined): number | null =>
  next === undefined ? null : next.from - 1

/** A key is retired once a signed tree holds the next one. The root of its last tree is computed from the log. */
async function policyKey(
  log: LogReader,
  { verifierKey: vkey, position, isCompromised: compromised }: KeyInLog,
  { next, sealedSize }: { readonly next: KeyInLog | undefined; readonly sealedSize: number },
): Promise<LogPolicy['keys'][number]> {
  const from = position + 1
  if (next === undefined || next.position >= sealedSize) return { vkey, from, until: null }
  const until = next.position
  const [root, stamp] = await Promise.all([log.tree.rootAt(until), log.stampCovering(until + 1)])
  const retiredAt = stamp && { retiredAt: rfc3339(Math.min(...stamp.tokens.map(({ genTime }) => genTime))) }
  return { vkey, from, until, root: toHex(root), ...retiredAt, compromised }
}

/** The newest key and the witnesses as C2SP tlog-policy text, whose lines cannot say which trees a key signs. */
export const logPolicyText = ({ keys, witnesses, groups, quorum }: LogPolicy): string =>
  [
    ...keys.slice(-1).map(({ vkey }) => `log ${vkey}`),
    ...witnesses.map(({ name, vkey, url }) => ['witness', name, vkey, ...(url === undefined ? [] : [url])].join(' ')),
    ...groups.map(({ name, threshold, members }) => ['group', name, threshold, ...members].join(' ')),
    `quorum ${quorum}`,
    '',
  ].join('\n')

function pemOf(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
