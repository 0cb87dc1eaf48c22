import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { uiModule } from '../../support/ui-module.ts'

interface Event {
  readonly version: number | undefined
  readonly fields: ReadonlyMap<string, unknown>
  readonly hiddenFields: readonly string[]
}

const event = (version: number | undefined, fields: Readonly<Record<string, unknown>>, ...hidden: string[]): Event => ({
  version,
  fields: new Map(Object.entries(fields)),
  hiddenFields: hidden,
})

describe('what the events of a bundle say of a field', () => {
  let ui: {
    lastText(events: readonly Event[], name: string): unknown
    disclosedName(fields: ReadonlyMap<string, unknown>): string | undefined
  }
  before(async () => {
    ui = await uiModule('event-changes.ts', 'event-names.ts')
  })

  it('is present only if no later event sets it without disclosing it', () => {
    const created = event(1, { owner: 'Mallory' }, 'name')
    const cases: readonly (readonly [string, readonly Event[], unknown])[] = [
      ['owner', [created, event(2, {})], { text: 'Mallory', version: 1, isPresent: true }],
      ['owner', [created, event(2, {}, 'owner')], { text: 'Mallory', version: 1, isPresent: false }],
      [
        'owner',
        [created, event(2, {}, 'owner'), event(3, { owner: 'Grace' })],
        { text: 'Grace', version: 3, isPresent: true },
      ],
      ['owner', [created, event(2, { owner: '' })], { text: undefined, version: 2, isPresent: true }],
      ['name', [created], { text: undefined, version: undefined, isPresent: false }],
      ['status', [created], { text: undefined, version: undefined, isPresent: true }],
      [
        'status',
        [created, event(2, { status: 'stolen' }), event(3, {}, 'status')],
        { text: 'stolen', version: 2, isPresent: false },
      ],
      // Without headers, not even the names of what an event sets are known.
      ['status', [event(undefined, {})], { text: undefined, version: undefined, isPresent: false }],
    ]
    for (const [name, events, expected] of cases) assert.deepEqual(ui.lastText(events, name), expected)
  })

  it('does not name a report of a theft whose status is hidden', () => {
    const action = { type: 'update', updateType: 'stolen' }
    const names = [{ action, status: 'stolen' }, { action, status: 'active' }, { action }].map((fields) =>
      ui.disclosedName(new Map(Object.entries(fields))),
    )
    assert.deepEqual(names, ['Reported stolen', 'No longer stolen', 'Reported stolen, or no longer'])
  })
})
