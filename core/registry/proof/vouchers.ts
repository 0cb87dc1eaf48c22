import type {
  Bundle,
  BundleAnchor,
  BundleCheckpoint,
  BundleKey,
  BundleRenewal,
  BundleValidationData,
  LogPolicy,
} from '../../schemas/bundle.ts'
import { decodeUtf8, fromBase64, toBase64, toHex } from '../../bytes.ts'
import { MAX_COSIGNATURES } from '../../commitment/bundle-format.ts'
import { entryOf, tokenOpening } from '../../commitment/log-entry.ts'
import { corrupt } from '../../errors.ts'
import type { LogIdentity } from '../../log/identity.ts'
import type { LogReader } from '../../log/reader.ts'
import type { AnchorRecord, ValidationDataRef } from '../../log/records.ts'
import type { SealerTrust } from '../../ports/index.ts'
import { storedBytes } from '../../store/codec.ts'
import { logPolicy } from '../published-log.ts'
import { inclusionsOf, merged, stampedTree, tokensOf, type VouchedTree } from './vouched-tree.ts'

/** The log's identity and what vouches for it. */
export interface BundleSources {
  readonly identity: Pick<LogIdentity, 'origin' | 'keys' | 'refresh'>
  readonly trust: SealerTrust
}

/** What a bundle says of its trees. It is the same for all events that are proven under them. */
export interface Vouchers extends Pick<Bundle, 'keys' | 'checkpoints' | 'validationData' | 'renewals'> {
  readonly claimedPolicy: LogPolicy
}

/**
 * Reads what vouches for these trees.
 *
 * @param trees - by their sizes, ascending
 */
export async function readVouchers(
  log: LogReader,
  sources: BundleSources,
  trees: readonly VouchedTree[],
): Promise<Vouchers> {
  const { identity } = sources
  const { renewals, newest } = await renewalsOf(log, trees)
  const shown = newest === undefined ? trees : merged([...trees, newest])
  // Another process may have signed a checkpoint with a key that it has added since.
  await identity.refresh()
  const claimedPolicy = await logPolicy(log, sources)
  const { checkpoints, validationData } = await checkpointsOf(log, shown, claimedPolicy.keys)
  return {
    keys: await proveKeys(log, identity, shown),
    checkpoints,
    validationData,
    ...(renewals.length > 0 && { renewals }),
    claimedPolicy,
  }
}

/** The keys up to the newest that signed one of the checkpoints, each proven under those that it signed. */
function proveKeys(
  log: LogReader,
  { keys }: BundleSources['identity'],
  trees: readonly VouchedTree[],
): Promise<BundleKey[]> {
  const signerOf = ({ size }: VouchedTree): number => keys.findLastIndex(({ position }) => position < size)
  const newest = Math.max(0, ...trees.map(signerOf))
  return Promise.all(
    keys.slice(0, newest + 1).map(async ({ entry, position }, i) => {
      const payload = await log.payloadOf(storedBytes(entry, 'The entry of a checkpoint key'))
      if (payload === undefined) throw corrupt(`The opening of checkpoint key ${entry} is missing`)
      const signed = trees.filter((tree) => signerOf(tree) === i)
      const inclusion = await inclusionsOf(log.tree, { entry, position }, signed)
      return { opening: toHex(payload.opening), position, inclusion }
    }),
  )
}

/**
 * The tokens whose entries the newest stamp covers, proven under its tree: should the certificate of an older token be
 * revoked one day, the newest stamp shows that the token existed before. `newest`: that tree, if there are such tokens.
 */
async function renewalsOf(
  log: LogReader,
  trees: readonly VouchedTree[],
): Promise<{ readonly renewals: BundleRenewal[]; readonly newest?: VouchedTree }> {
  const stamp = await log.latestStamp()
  if (stamp === undefined) return { renewals: [] }
  const openings = trees.flatMap((tree) => tokensOf(tree.stamp)).map(({ token }) => openingOf(token))
  const entries = openings.map(entryOf)
  const statuses = await log.entryStatuses(entries)
  const newest = stampedTree(stamp)
  const renewals = openings.map(async (opening, i): Promise<readonly BundleRenewal[]> => {
    const position = statuses[i]?.position
    const entry = entries[i]
    if (entry === undefined || position === undefined || position >= newest.size) return []
    const inclusion = await inclusionsOf(log.tree, { entry: toHex(entry), position }, [newest])
    return [{ opening: toHex(opening), position, inclusion }]
  })
  const covered = (await Promise.all(renewals)).flat()
  return { renewals: covered.toSorted((a, b) => a.position - b.position), ...(covered.length > 0 && { newest }) }
}

/** All of them, each with the proof that it is the beginning of the next one and of the last tree of its key. */
async function checkpointsOf(
  log: LogReader,
  trees: readonly VouchedTree[],
  keys: LogPolicy['keys'],
): Promise<Pick<Bundle, 'checkpoints' | 'validationData'>> {
  const refs = new Map<string, ValidationDataRef>()
  const checkpoints: BundleCheckpoint[] = []
  for (const [i, tree] of trees.entries()) {
    const tokens = tokensOf(tree.stamp)
    for (const ref of tokens.flatMap(({ evidence }) => evidence)) refs.set(ref.sha256, ref)
    checkpoints.push({
      note: tree.note,
      ...(await consistencyOf(log, { tree, next: trees[i + 1], keys })),
      cosignatures: (await log.checkpoints.cosignatures(tree.size)).slice(0, MAX_COSIGNATURES),
      tokens: tokens.map(({ token }) => token),
      anchors: anchorsOf(tree.anchor),
    })
  }
  return { checkpoints, validationData: await validationDataOf(log, [...refs.values()]) }
}

interface TreeInOrder {
  readonly tree: VouchedTree
  readonly next: VouchedTree | undefined
  readonly keys: LogPolicy['keys']
}

/** Only the largest tree of a retired key needs the proof to its last one: the others lead to it. */
async function consistencyOf(
  log: LogReader,
  { tree: { size, root: fromRoot }, next, keys }: TreeInOrder,
): Promise<Pick<BundleCheckpoint, 'consistency' | 'keyConsistency'>> {
  const prove = async (toSize: number, toRoot: Uint8Array): Promise<string[]> =>
    (await log.tree.proveConsistency({ fromSize: size, fromRoot, toSize, toRoot })).map(toHex)
  const { until = null, root } = keys.find((key) => size <= (key.until ?? Infinity)) ?? {}
  return {
    ...(next !== undefined && { consistency: await prove(next.size, next.root) }),
    ...(until !== null &&
      root !== undefined &&
      (next?.size ?? Infinity) > until && { keyConsistency: await prove(until, storedBytes(root, 'A root')) }),
  }
}

function openingOf(base64: string): Uint8Array {
  const token = fromBase64(base64)
  if (token === undefined) throw corrupt('A stored token is not base64')
  return tokenOpening(token)
}

function anchorsOf(anchor: AnchorRecord | undefined): BundleAnchor[] {
  if (anchor?.confirmation === undefined) return []
  const { info, confirmation } = anchor
  const { ref: txHash, blockNumber, blockHash, evidence } = confirmation
  const { type, network, chainId } = info
  return [{ type, network, chainId, txHash, blockNumber, blockHash, proof: proofText(type, evidence) }]
}

/** The proofs of the chains that come with the package are texts. */
const TEXT_PROOFS: ReadonlySet<string> = new Set(['evm', 'local'])

function proofText(type: string, base64: string): string {
  if (!TEXT_PROOFS.has(type)) return base64
  const bytes = fromBase64(base64)
  if (bytes === undefined) throw corrupt('The stored proof of an anchor is not base64')
  return decodeUtf8(bytes)
}

const validationDataOf = async (log: LogReader, refs: readonly ValidationDataRef[]): Promise<BundleValidationData[]> =>
  (await log.validationData(refs)).map(({ type, der }) => ({ type, data: toBase64(der) }))

/** Of the proofs of keys, the policy without certificates and the rest. */
const OTHER_CHARS = 8 * 1024

/** About how many characters they take. */
export function charsOf({ checkpoints, validationData, claimedPolicy }: Vouchers): number {
  const certificates = claimedPolicy.timestampAuthorities.flatMap(({ trustAnchors }) => trustAnchors)
  const proofs = checkpoints.flatMap(({ note, tokens, anchors }) => [
    note,
    ...tokens,
    ...anchors.map(({ proof }) => proof),
  ])
  const texts = [...certificates, ...proofs, ...validationData.map(({ data }) => data)]
  return texts.reduce((sum, text) => sum + text.length, OTHER_CHARS)
}
