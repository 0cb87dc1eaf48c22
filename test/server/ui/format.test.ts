import assert from 'node:assert/strict'
import { it } from 'node:test'
import { uiModule } from '../../support/ui-module.ts'

type Format = (time: string | number, format?: Format) => string

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

it('a time by which something existed is rounded up to what is shown, and any other time is cut off', async () => {
  const ui = await uiModule<Readonly<Record<string, Format>>>('format.ts')
  const { formatBound, formatTime, formatPrinted, formatUtcTime } = ui
  for (const [time, second, minute] of [
    ['2026-11-28T21:23:33.586Z', /9:23:34\sPM UTC$/, /9:24\sPM UTC$/],
    ['2026-11-28T21:23:33.000Z', /9:23:33\sPM UTC$/, /9:24\sPM UTC$/],
    ['2026-11-28T21:23:00.000Z', /9:23:00\sPM UTC$/, /9:23\sPM UTC$/],
    ['2026-12-31T23:59:59.001Z', /Jan 1, 2027, 12:00:00\sAM UTC$/, /Jan 1, 2027, 12:00\sAM UTC$/],
  ] as const) {
    assert.match(formatBound?.(Date.parse(time), formatPrinted) ?? '', second)
    assert.match(formatBound?.(Date.parse(time), formatUtcTime) ?? '', minute)
  }
  const at = Date.parse('2026-11-28T21:23:33.586Z')
  assert.equal(formatBound?.(at, formatTime), formatTime?.(at + 414))
  assert.match(formatPrinted?.(at) ?? '', /9:23:33\s/)
  assert.match(formatUtcTime?.(at) ?? '', /9:23\s/)
  assert.equal(formatBound?.(Number.MAX_SAFE_INTEGER, formatTime), '9007199254740991 ms after 1970')
})
