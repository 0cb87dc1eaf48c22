import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { parse } from 'yaml'
import { loadConfig } from '../../server/index.ts'

const SECRETS: Readonly<Record<string, string>> = {
  'operator-key': 'an-operator-key-of-tests',
  'postgres-url': 'postgres://evidence:password@database:5432/evidence',
}

/** The configuration by the settings that a file names, as `NAME=value` or `NAME: value`. */
const configIn = (path: string) => configOf(readFileSync(path, 'utf8'))

function configOf(content: string) {
  const text = content.replaceAll(/^\s*#.*$/gm, '')
  const env = Object.fromEntries(
    Array.from(text.matchAll(/\b(EVIDENCE_[A-Z_]+)[=:] ?(\S+)/g), ([, name, value]) => [name ?? '', value ?? '']),
  )
  const readFile = (file: string): Uint8Array => Buffer.from(SECRETS[file.replace('/run/secrets/', '')] ?? '')
  return loadConfig({ args: [], env, readFile })
}

it('the files for containers and systemd have settings that exist', () => {
  assert.equal(configIn('server/Dockerfile').dataDir, '/data')
  const { records, anchor, tsa, postgresUrl } = configIn('server/compose.yaml')
  assert.deepEqual([records, anchor, tsa, postgresUrl], ['postgres', 'none', 'none', SECRETS['postgres-url']])
  for (const unit of ['evidence-registry.service', 'evidence-registry-backup.service'])
    assert.equal(configIn(`server/${unit}`).dataDir, '/var/lib/evidence-registry')
})

it('the image, compose and the unit probe the address of the operations', () => {
  const port = ':9464'
  assert.equal(configIn('server/Dockerfile').metricsAddress, `0.0.0.0${port}`)
  assert.equal(configIn('server/evidence-registry.service').metricsAddress, `127.0.0.1${port}`)
  // compose uses the image's, and does not publish it.
  const compose = readFileSync('server/compose.yaml', 'utf8')
  assert.ok(!compose.includes(port.slice(1)) && !compose.includes('EVIDENCE_METRICS_ADDRESS'))
  const check = /HEALTHCHECK[^]*?CMD (\[.*\])/.exec(readFileSync('server/Dockerfile', 'utf8'))?.[1] ?? ''
  assert.match(check, /EVIDENCE_METRICS_ADDRESS.*\/readyz/)
})

it('compose has a real authority in comments', () => {
  const text = readFileSync('server/compose.yaml', 'utf8')
    .replaceAll(/^( *)# (?=(?:- )?\S*tsa|  file)/gim, '$1')
    .replace('EVIDENCE_TSA: none', 'EVIDENCE_TSA: rfc3161')
  const { tsa, tsaUrl, tsaCa } = configOf(text)
  assert.deepEqual([tsa, tsaUrl.length, tsaCa], ['rfc3161', 1, ['/run/secrets/tsa-ca']])
  const { services, secrets } = parse(text)
  assert.equal(services.server.secrets.at(-1), 'tsa-ca')
  assert.equal(secrets['tsa-ca'].file, './secrets/tsa-ca.pem')
})
