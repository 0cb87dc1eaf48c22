import { equalBytes, toHex } from '../bytes.ts'
import { entryOf, tokenOpeningOf } from '../commitment/log-entry.ts'
import { leafHash } from '../log/tree/hasher.ts'
import { rootFromInclusionProof, sidesOf, verifyConsistency } from '../log/tree/proof.ts'
import { verifyCheckpointUnder, type VerifiedCheckpoint } from './checkpoint.ts'
import { anchorClaim, pinnedChainOf, type AnchoredTransaction } from './proof-anchor.ts'
import { verifyCosignatures, type Cosignature } from './cosignature.ts'
import { verifyEvent, verifyFilesMap, verifyOpening, type VerifiedEvent } from './event.ts'
import type { Policy } from './policy.ts'
import type { WitnessGroup } from './policy-text.ts'
import type { ShownEvent } from './proof-document.ts'
import type { AnchorClaim, EventClaims, FileClaim, ProofStep, ProofStepName, TimestampClaim } from './proof-result.ts'
import { Skip, type ProofRun } from './proof-run.ts'
import {
  authorityClaims,
  checkTokens,
  distinctTokens,
  NO_VERIFIER,
  timeOfQuorum,
  uncheckedRevocations,
  verifyShownTokens,
  type TokenContext,
} from './proof-tokens.ts'
import { verificationError } from '../errors.ts'
import { asArray, asCount, asHash, asHashes, asObject, asString, asTime, type UntrustedObject } from './untrusted.ts'

export interface EventCheckOptions {
  readonly shown: ShownEvent
  readonly of: ProofStep['of']
  readonly policy: Policy
  readonly context: TokenContext
  readonly run: ProofRun
  readonly findTransaction: ((anchor: UntrustedObject) => AnchoredTransaction | undefined) | undefined
}

const UNSEALED = new Skip('The proof document has no Merkle proof: the event is not sealed yet, or not known', {
  isPending: true,
})

/** Runs the steps for one event of a proof document. */
export class EventCheck {
  readonly #options: EventCheckOptions
  readonly #checkpoints = new Map<string, VerifiedCheckpoint>()

  constructor(options: EventCheckOptions) {
    this.#options = options
  }

  #step<T extends object | true>(name: ProofStepName, check: () => T | Skip): T | undefined {
    return this.#options.run.step(name, this.#options.of, check)
  }

  /** What is proven; `undefined` if not even that the log holds the event. */
  claims(): EventClaims | undefined {
    const { members, merkle } = this.#options.shown
    const opened = this.#step('opening', () => openingTime(members))
    const disclosed =
      members['disclosure'] === undefined ? undefined : this.#step('disclosure', () => disclosedEvent(members, merkle))
    const file = members['fileId'] === undefined ? undefined : this.#step('files', () => fileOf(members, disclosed))
    const inclusion = this.#step('inclusion', () => (merkle === undefined ? UNSEALED : checkInclusion(members, merkle)))
    const signed = this.#step('checkpoint', () => (merkle === undefined ? UNSEALED : this.#ownCheckpoint(merkle)))
    const timestamp = this.#timestamp()
    const anchor = this.#anchor()
    const group = this.#options.policy.witnesses
    const witnesses = group?.members.length ? this.#step('witnesses', () => this.#witnesses(group)) : []
    if (inclusion === undefined || signed === undefined) return undefined
    this.#doubtKeys()
    const times = [timestamp?.notLaterThan, anchor?.blockTime].filter((time) => time !== undefined)
    return {
      txId: asString(members['txId'], 'The txId'),
      log: { origin: signed.origin, ...inclusion },
      ...(opened && { committedTime: opened.time }),
      ...(times.length > 0 && { notLaterThan: Math.min(...times) }),
      ...(timestamp && { timestamp }),
      ...(anchor && { anchor }),
      witnesses: witnesses ?? [],
      ...(disclosed && { disclosed }),
      ...(file && { file }),
    }
  }

  // -- checkpoints

  #signed(note: unknown): VerifiedCheckpoint {
    const text = asString(note, 'checkpoint')
    const { policy, run } = this.#options
    const checkpoint = this.#checkpoints.get(text) ?? verifyCheckpointUnder(text, policy.keys, run.budget)
    this.#checkpoints.set(text, checkpoint)
    return checkpoint
  }

  #ownCheckpoint(merkle: UntrustedObject): VerifiedCheckpoint {
    const signed = this.#signed(merkle['checkpoint'])
    assertTree(signed, merkle)
    if (!equalBytes(signed.root, asHash(merkle['merkleRoot'], 'merkleRoot')))
      throw verificationError('The checkpoint has another root')
    return signed
  }

  /** The checkpoint of a stamp or anchor may be later than the proof's: it must extend the proof's tree. */
  #laterCheckpoint(later: UntrustedObject): VerifiedCheckpoint {
    const merkle = asObject(this.#options.shown.merkle, 'merkle')
    const signed = this.#signed(later['checkpoint'])
    assertTree(signed, later)
    if (later['merkleRoot'] !== undefined && !equalBytes(signed.root, asHash(later['merkleRoot'], 'merkleRoot')))
      throw verificationError('The checkpoint has another root')
    const from = {
      fromSize: asCount(merkle['treeSize'], 'treeSize'),
      fromRoot: asHash(merkle['merkleRoot'], 'merkleRoot'),
    }
    const proof = asHashes(later['consistency'], 'consistency')
    if (!verifyConsistency({ ...from, toSize: signed.size, toRoot: signed.root, proof }))
      throw verificationError('The consistency proof does not lead to the checkpoint')
    return signed
  }

  /** A quorum over one of the checkpoints is enough, because each of them holds the event. */
  #witnesses(required: WitnessGroup): readonly Cosignature[] {
    const { run } = this.#options
    let lastError: unknown = verificationError('No checkpoint verified that witnesses could have cosigned')
    for (const { note } of this.#checkpoints.values()) {
      try {
        return verifyCosignatures(note, required, run.budget)
      } catch (error) {
        lastError = error
      }
    }
    throw lastError
  }

  #doubtKeys(): void {
    const keys = new Set([...this.#checkpoints.values()].map(({ key }) => key))
    for (const { until, vkey } of keys)
      if (until === undefined)
        this.#options.run.doubt(
          'retired keys',
          `The policy does not pin up to which tree size ${vkey} signs: a retired key could have signed the checkpoint`,
        )
  }

  // -- timestamp

  #timestamp(): TimestampClaim | undefined {
    const { context, shown, run } = this.#options
    const { tsa, tsas, renewals, merkle } = shown
    const missing = new Skip('The proof document has no timestamp', { isPending: merkle === undefined })
    const signed = this.#step('stamped checkpoint', () => (tsa === undefined ? missing : this.#laterCheckpoint(tsa)))
    const hasAuthorities = context.authorities.some(({ trustAnchors }) => trustAnchors.length > 0)
    const isCheckable = tsa !== undefined && signed !== undefined && hasAuthorities && context.verifier !== undefined
    if (renewals.length > 0 && isCheckable) this.#step('renewal', () => this.#renew(renewals))
    return this.#step('timestamp', (): TimestampClaim | Skip => {
      if (tsa === undefined) return missing
      if (signed === undefined) throw verificationError('The stamped checkpoint did not verify')
      distinctTokens(tsas)
      if (!hasAuthorities) return new Skip('The policy has no trust anchor to verify the token with')
      if (context.verifier === undefined) return new Skip(NO_VERIFIER)
      const { timestamp, rejected } = verifyShownTokens({ tsa, tsas, noteBytes: signed.noteBytes }, context)
      for (const reason of rejected) run.doubt('a token of tsas', reason)
      for (const { what, why } of uncheckedRevocations(timestamp.authorities)) run.doubt(what, why)
      return timestamp
    })
  }

  /** Later renewals first, because a renewal's own token may have been renewed. */
  #renew(renewals: readonly UntrustedObject[]): true {
    const { context } = this.#options
    const inOrder = renewals.toSorted((a, b) => asCount(b['treeSize'], 'treeSize') - asCount(a['treeSize'], 'treeSize'))
    for (const renewal of inOrder) {
      const signed = this.#signed(renewal['checkpoint'])
      assertTree(signed, renewal)
      const tokenSha256 = asHash(renewal['tokenSha256'], 'tokenSha256')
      const root = rootFromInclusionProof({
        leafHash: leafHash(entryOf(tokenOpeningOf(tokenSha256))),
        leafIndex: asCount(renewal['leafIndex'], 'leafIndex'),
        treeSize: signed.size,
        proof: asHashes(renewal['proof'], 'proof'),
      })
      if (root === undefined || !equalBytes(root, signed.root))
        throw verificationError('The later stamp does not cover the token')
      const tokens = distinctTokens(asArray(renewal['tokens'], 'tokens').map((token) => asObject(token, 'A token')))
      const { held, rejected } = checkTokens(tokens, signed.noteBytes, context)
      const time = timeOfQuorum(authorityClaims(held), context.quorum)
      if (time === undefined)
        throw verificationError(rejected[0] ?? 'Too few trusted authorities stamped the tree that holds the token')
      context.renewedAt.set(toHex(tokenSha256), time)
    }
    return true
  }

  // -- anchor

  #anchor(): AnchorClaim | undefined {
    const { shown, policy, findTransaction } = this.#options
    const { anchor, members, merkle } = shown
    const missing = new Skip('The proof document has no anchor', { isPending: merkle === undefined })
    const signed = this.#step('anchored checkpoint', () =>
      anchor === undefined ? missing : this.#laterCheckpoint(anchor),
    )
    return this.#step('anchor', (): AnchorClaim | Skip => {
      if (members['blockNumber'] !== undefined && members['blockNumber'] !== anchor?.['blockNumber'])
        throw verificationError("blockNumber is not that of the anchor's block")
      if (anchor === undefined) return missing
      if (signed === undefined) throw verificationError('The anchored checkpoint did not verify')
      if (findTransaction === undefined) return new Skip('No findTransaction was given to read the chain with')
      const chain = pinnedChainOf(anchor, policy)
      if (chain === undefined) return new Skip('The policy pins no chain account')
      const transaction = findTransaction(anchor)
      if (transaction === undefined) throw verificationError('The chain does not hold the transaction')
      return anchorClaim(anchor, { chain, transaction, noteBytes: signed.noteBytes })
    })
  }
}

// -- parts

function assertTree({ size }: VerifiedCheckpoint, shown: UntrustedObject): void {
  if (size !== asCount(shown['treeSize'], 'treeSize')) throw verificationError('The checkpoint has another size')
}

function openingTime(members: UntrustedObject): { readonly time: number } {
  const { time } = verifyOpening(members['opening'], members['txId'])
  for (const name of ['createdAt', 'eventTimestamp'])
    if (members[name] !== undefined && asTime(members[name], name) !== time)
      throw verificationError(`${name} is not the time that the event commits to`)
  return { time }
}

/** The event must belong to the log of its checkpoint, which is verified in its own step. */
function disclosedEvent(members: UntrustedObject, merkle: UntrustedObject | undefined): VerifiedEvent {
  const [origin = ''] = merkle === undefined ? [] : asString(merkle['checkpoint'], 'checkpoint').split('\n', 1)
  return verifyEvent(members['disclosure'], {
    txId: asString(members['txId'], 'The txId'),
    ...(merkle !== undefined && { origin }),
  })
}

function fileOf(members: UntrustedObject, disclosed: VerifiedEvent | undefined): FileClaim {
  const opening = verifyOpening(members['opening'], members['txId'])
  const files = verifyFilesMap(members['filesText'], members['filesSalt'], opening)
  const fileId = asString(members['fileId'], 'fileId')
  if (!files.has(fileId)) throw verificationError(`The event does not hold the file ${fileId}`)
  const attached = disclosed?.files.get(fileId)
  if (attached === undefined) return { fileId, state: 'listed' }
  if ('deleted' in attached) throw verificationError(`The event deletes the file ${fileId}`)
  return { fileId, state: 'attached', attached }
}

function checkInclusion(
  members: UntrustedObject,
  merkle: UntrustedObject,
): { readonly leafIndex: number; readonly treeSize: number } {
  const leaf = leafHash(asHash(members['txId'], 'The txId'))
  const [leafIndex, treeSize] = [asCount(merkle['leafIndex'], 'leafIndex'), asCount(merkle['treeSize'], 'treeSize')]
  const items = asArray(merkle['proof'], 'proof').map((item) => asObject(item, 'A proof item'))
  const hashes = items.map(({ hash }) => hash)
  const root = rootFromInclusionProof({ leafHash: leaf, leafIndex, treeSize, proof: asHashes(hashes, 'proof') })
  if (root === undefined)
    throw verificationError('The inclusion proof does not have the length for this leaf and tree size')
  if (!equalBytes(root, asHash(merkle['merkleRoot'], 'merkleRoot')))
    throw verificationError('The inclusion proof leads to another root')
  const sides = sidesOf(leafIndex, treeSize)
  if (items.some(({ position }, i) => position !== sides[i]))
    throw verificationError('A position of the inclusion proof is wrong for this leaf')
  return { leafIndex, treeSize }
}
