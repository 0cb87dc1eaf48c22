import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hasQuorum, linesOf } from '../../../core/log/cosigned.ts'
import { MAX_NOTE_LENGTH } from '../../../core/log/note.ts'
import type { WitnessPolicy } from '../../../core/ports/index.ts'

const cosignedBy = (...vkeys: readonly string[]) => ({
  size: 1,
  submittedAt: 0,
  cosignatures: vkeys.map((vkey) => ({ vkey, first: 'x'.repeat(3_300), newest: 'y' })),
})

it('a note has as many cosignatures as fit into it', () => {
  const { length } = linesOf(cosignedBy(...Array.from({ length: 1_000 }, String)), 'first').join('\n')
  assert.ok(length < MAX_NOTE_LENGTH - 1_000 && length > MAX_NOTE_LENGTH - 5_000, String(length))
})

it('a quorum of all is reached by all', () => {
  const witnesses = ['a', 'b'].map((name) => ({ name, vkey: name }))
  const groups: WitnessPolicy['groups'] = [{ name: 'all', threshold: 'all', members: ['a', 'b'] }]
  const has = (...vkeys: readonly string[]): boolean =>
    hasQuorum({ witnesses, groups, quorum: 'all' }, cosignedBy(...vkeys))
  assert.deepEqual([has('a'), has('a', 'b')], [false, true])
})
