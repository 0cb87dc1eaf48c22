import assert from 'node:assert/strict'
import { it } from 'node:test'
import { uiModule } from '../../support/ui-module.ts'

type Format = (time: string | number) => string

it('a time that Date cannot show is a text, because a log can sign it', async () => {
  const format = await uiModule<Readonly<Record<string, Format>>>('format.ts')
  const names = [
    'formatTime',
    'formatUtc',
    'formatDate',
    'formatAge',
    'formatUtcTime',
    'formatUtcDate',
    'formatPrinted',
  ]
  for (const name of names) {
    assert.equal(format[name]?.(Number.MAX_SAFE_INTEGER), '9007199254740991 ms after 1970')
    assert.equal(format[name]?.('yesterday'), 'yesterday')
  }
  assert.equal(format['formatUtc']?.(0), '1970-01-01T00:00:00.000Z')
})
