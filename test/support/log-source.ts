import assert from 'node:assert/strict'
import type { Registry } from '../../core/index.ts'
import type { LogSource } from '../../core/verify/index.ts'

/** A small registry as a monitor reads it, without HTTP. */
export const logSourceOf = ({ log, proofs }: Registry): LogSource => ({
  checkpoint: async () => (await log.latestCheckpoint()) ?? '',
  async *openings(from, to) {
    const openings = (await log.openings({ index: 0, width: to })) ?? []
    yield openings.slice(from).map((opening) => Buffer.from(opening, 'hex'))
  },
  async bundle(txId) {
    const result = await proofs.eventBundle(txId)
    assert.ok(result.status === 'ok')
    return JSON.stringify(result.bundle)
  },
})
