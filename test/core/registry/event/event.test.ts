import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toBase64 } from '../../../../core/bytes.ts'
import { makeEvent, openCheckedEvent } from '../../../../core/registry/event/event.ts'

const source = { origin: 'log/0', slotKey: toBase64(new Uint8Array(32).fill(0x11)) }

const draft = {
  version: 1,
  time: 1_000,
  first: null,
  prev: null,
  type: 'create',
  ownerName: '',
  fields: { name: 'Drill' },
  files: {},
} as const

it('draws a new seed for each event, also for the same slotKey and version', () => {
  const events = Array.from({ length: 50 }, () => makeEvent(draft, source))
  const seeds = new Set(events.map(({ record }) => JSON.stringify(record.salts)))
  assert.equal(seeds.size, events.length)
  assert.equal(new Set(events.map(({ record }) => record.txId)).size, events.length)
  for (const { record } of events) assert.match(JSON.stringify(record.salts), /^"[\w+/]{43}="$/)
})

it('does not disclose a stored event that does not hash to its txId', () => {
  const { record } = makeEvent(draft, source)
  assert.equal(openCheckedEvent(record, source).disclosure.fields['name']?.text, '["name","Drill"]')
  for (const damaged of [
    { ...record, fields: { name: 'Saw' } },
    { ...record, time: record.time + 1 },
  ])
    assert.throws(() => openCheckedEvent(damaged, source), { code: 'CORRUPT' })
  assert.throws(() => openCheckedEvent(record, { ...source, slotKey: toBase64(new Uint8Array(32)) }), {
    code: 'CORRUPT',
  })
})
