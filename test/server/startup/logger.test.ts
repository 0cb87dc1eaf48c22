import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readableLine } from '../../../server/startup/logger.ts'

const time = '2026-01-02T03:04:05.678Z'
const clock = new Date(time).toTimeString().slice(0, 8)

it('shows time, level, message and fields on one line', () => {
  const fields = { url: 'http://[::1]:8080', count: 3, text: 'a b', none: null, list: ['x'] }
  const line = readableLine(JSON.stringify({ level: 30, time, ...fields, msg: 'ready' }))
  assert.equal(line, `${clock} info  ready  url=http://[::1]:8080  count=3  text="a b"  none=null  list=["x"]\n`)
})

it('shows the stack of an error below the line', () => {
  const line = readableLine(JSON.stringify({ level: 50, time, err: { stack: 'Error: x\n    at y' }, msg: 'failed' }))
  assert.equal(line, `${clock} ERROR failed\n    Error: x\n        at y\n`)
})
