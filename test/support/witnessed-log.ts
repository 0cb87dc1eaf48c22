import type { TestContext } from 'node:test'
import { MemoryCheckpointKeys } from '../../adapters/memory/index.ts'
import { createWitnessClient } from '../../adapters/witness/index.ts'
import { formatTypedKey } from '../../core/log/verifier-key.ts'
import type { WitnessClient } from '../../core/ports/index.ts'
import type { WitnessOptions } from '../../sealer/index.ts'
import { present } from './present.ts'
import { policyOf, TestWitness } from './witness.ts'

interface WitnessedOptions {
  readonly count: number
  readonly quorum?: number
  readonly timeoutMs?: number
  readonly intervalMs?: number
  /** In place of functions of the client. */
  readonly client?: Partial<WitnessClient>
}

/** Starts witnesses, and the options by which a sealer asks them. `trust`: tells them the log's submission key. */
export async function startWitnesses(
  t: TestContext,
  { count, quorum = count, timeoutMs, intervalMs, client }: WitnessedOptions,
) {
  const names = Array.from({ length: count }, (_, i) => `wit.example/${i + 1}`)
  const witnesses = await Promise.all(names.map((name) => TestWitness.start(t, name)))
  const keys = new MemoryCheckpointKeys([new Uint8Array(32).fill(99)])
  const publicKey = present((await keys.publicKeys())[0])
  const options: WitnessOptions = {
    policy: policyOf(witnesses, quorum),
    client: { ...createWitnessClient(timeoutMs === undefined ? {} : { timeoutMs }), ...client },
    submissionKey: { publicKey, sign: (bytes) => keys.sign(publicKey, bytes) },
    ...(intervalMs !== undefined && { intervalMs }),
  }
  const trust = (origin: string): void => {
    for (const witness of witnesses) witness.logKey = formatTypedKey(origin, publicKey)
  }
  return { witnesses, options, trust }
}
