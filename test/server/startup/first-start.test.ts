import assert from 'node:assert/strict'
import { it } from 'node:test'
import { welcome, welcomeBack } from '../../../server/startup/first-start.ts'

it('shows a person the addresses, the key once, and four commands', () => {
  const text = welcome({ url: 'http://127.0.0.1:8080', operatorKey: 'the-operator-key' })
  assert.match(text, / http:\/\/127\.0\.0\.1:8080\/docs$/m)
  assert.match(text, / http:\/\/127\.0\.0\.1:8080\/ui\/#\/sign-in\?company=demo$/m)
  const lines = text.split('\n').filter((line) => line.includes('curl '))
  assert.equal(lines.length, 4)
  assert.ok(lines.every((line) => line.includes(String.raw`-w '\n'`)))
  assert.match(lines[3] ?? '', /^until .*merkle\/verify\/car-1 \| grep .*; do sleep 1; done$/)
  assert.equal(text.split('\n').filter((line) => line.trim() === 'the-operator-key').length, 1)
  const system = /"apiKey":"([^"]+)"/.exec(lines[0] ?? '')?.[1] ?? ''
  assert.ok(
    system.length >= 16 && lines[1]?.includes(system) && lines[2]?.includes(system) && !lines[3]?.includes(system),
  )
})

it('says at a later start where to sign in, and with which key', () => {
  const text = welcomeBack('http://127.0.0.1:8080')
  assert.match(text, / http:\/\/127\.0\.0\.1:8080\/ui\/$/m)
  assert.match(text, /^Evidence Registry \d+\.\d+\.\d+ .*/m)
  assert.match(text, /operator key/)
})
