import { createHash } from 'node:crypto'
import { fromBase64, sha256, toHex } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import { entryOf, kindOf, tokenOpening } from '../commitment/log-entry.ts'
import { distinctTokens } from '../log/stamp-claim.ts'
import {
  NO_ANCHORS,
  type AnchorHeadRecord,
  type AnchorRecord,
  type CheckpointRecord,
  type ConfirmedAnchorRecord,
  type StampRecord,
} from '../log/records.ts'
import type { Entry } from '../ports.ts'
import { jsonOf, type Check } from './check.ts'

/** Checkpoints, stamps and anchors that hang on a batch, and the ones that hang on nothing. */
export async function checkAttestations(check: Check): Promise<void> {
  for await (const page of check.pages(logKeys.checkpoints())) {
    const records = page.map((entry) => check.decode<CheckpointRecord>('checkpoint', entry))
    const batches = await check.records.get(records.map((record) => logKeys.batch(record?.size ?? 0)))
    for (const [i, entry] of page.entries()) {
      const own = records[i] !== undefined && entry.key === logKeys.checkpoint(records[i].size)
      check.expect(own && batches[i] !== undefined, 'checkpoint', entry.key, 'It has no batch')
    }
  }
  let tokens = 0
  for (const range of [logKeys.stampsFrom(0), logKeys.partialStamps()])
    for await (const page of check.pages(range)) for (const entry of page) tokens += await checkStamp(check, entry)
  for await (const page of check.pages(logKeys.controlOpenings()))
    for (const { value } of page) if (kindOf(value) === 'token') tokens -= 1
  check.expect(tokens === 0, 'stamp', 'st', 'The log and the stamps do not hold the same number of tokens')
  for await (const page of check.pages(logKeys.allValidationData()))
    for (const { key, value } of page)
      check.expect(
        key === logKeys.validationData(toHex(sha256(value))),
        'stamp',
        key,
        'It is not what was kept with a token',
      )
  await checkAnchors(check)
}

/** Answers how many tokens it holds. */
async function checkStamp(check: Check, entry: Entry): Promise<number> {
  const stamp = check.decode<StampRecord>('stamp', entry)
  if (stamp === undefined) return 0
  const { key } = entry
  const checkpoint = await check.read<CheckpointRecord>('checkpoint', logKeys.checkpoint(stamp.size))
  const isWhole = stamp.quorum !== undefined
  const same =
    checkpoint?.note === stamp.checkpoint && key === (isWhole ? logKeys.stamp : logKeys.partialStamp)(stamp.size)
  check.expect(same, 'stamp', key, 'It is not of the checkpoint of its size')
  const openings = check.guard('stamp', key, () => {
    const distinct = distinctTokens(stamp.tokens).length
    check.expect(!isWhole || distinct >= (stamp.quorum ?? 0), 'stamp', key, 'It has no quorum of distinct authorities')
    return stamp.tokens.map(({ token, imprint, hashAlgorithm }) => {
      const digest = createHash(hashAlgorithm).update(stamp.checkpoint, 'utf8').digest('hex')
      check.expect(imprint === digest, 'stamp', key, 'It is over something else')
      return tokenOpening(fromBase64(token) as Uint8Array)
    })
  })
  for (const { sha256: hash } of stamp.tokens.flatMap(({ evidence }) => evidence)) {
    const kept = await check.one(logKeys.validationData(hash))
    const holds = kept !== undefined && toHex(sha256(kept.value)) === hash
    check.expect(holds, 'stamp', key, 'What was kept with its token is missing or changed')
  }
  for (const opening of openings ?? []) {
    const [position] = await check.records.positionsOf([entryOf(opening)])
    check.expect(position !== undefined, 'stamp', key, 'Its token is not in the log')
  }
  return openings?.length ?? 0
}

/** From the largest size down, so that the staircase of confirmed anchors (core/log/records.ts) can be made anew on the way. */
async function checkAnchors(check: Check): Promise<void> {
  const head = (await check.read<AnchorHeadRecord>('anchor', logKeys.anchorHead())) ?? NO_ANCHORS
  const steps = check.records.list({ ...logKeys.confirmedAnchorsFrom(0), reverse: true })[Symbol.asyncIterator]()
  let confirmedSize = 0
  let lowestBlock = Infinity
  let outstanding: number | null = null
  for await (const page of check.pages({ ...logKeys.anchorsFrom(0), reverse: true })) {
    for (const entry of page) {
      const anchor = check.decode<AnchorRecord>('anchor', entry)
      if (anchor === undefined) continue
      const checkpoint = await check.read<CheckpointRecord>('checkpoint', logKeys.checkpoint(anchor.size))
      const same =
        checkpoint?.note === anchor.checkpoint &&
        checkpoint.root === anchor.root &&
        entry.key === logKeys.anchor(anchor.size) &&
        (anchor.state === 'confirmed') === (anchor.confirmation !== undefined)
      check.expect(same, 'anchor', entry.key, 'It is not of the checkpoint of its size, or not in its state')
      if (anchor.state === 'prepared' || anchor.state === 'sent') {
        check.expect(outstanding === null, 'anchor', entry.key, 'More than one anchor is outstanding')
        outstanding ??= anchor.size
      }
      if (anchor.confirmation === undefined) continue
      confirmedSize = Math.max(confirmedSize, anchor.size)
      const { blockNumber } = anchor.confirmation
      if (blockNumber >= lowestBlock) continue
      lowestBlock = blockNumber
      await expectStep(check, steps, { size: anchor.size, blockNumber })
    }
  }
  const left = await steps.next()
  if (left.done !== true) check.differ('anchor', left.value.key, 'It is no confirmed anchor that is needed')
  const holds =
    head.confirmedSize === confirmedSize && head.outstanding === outstanding && head.sentSize >= confirmedSize
  check.expect(holds, 'anchor', logKeys.anchorHead(), 'The head of the anchors is not what they say')
  for (const size of head.unsettled) {
    const anchor = await check.read<AnchorRecord>('anchor', logKeys.anchor(size))
    check.expect(
      anchor?.state === 'confirmed',
      'anchor',
      logKeys.anchor(size),
      'It is to be settled, and not confirmed',
    )
  }
}

async function expectStep(
  check: Check,
  steps: AsyncIterator<Entry>,
  { size, blockNumber }: ConfirmedAnchorRecord,
): Promise<void> {
  const { value, done } = await steps.next()
  const step = done === true ? undefined : check.guard('anchor', value.key, () => jsonOf<ConfirmedAnchorRecord>(value))
  check.expect(
    step?.size === size && step.blockNumber === blockNumber,
    'anchor',
    logKeys.confirmedAnchor(size),
    'The lowest block that covers a size cannot be found by it',
  )
}
