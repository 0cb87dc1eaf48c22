import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { loadConfig } from '../../server/index.ts'

const SECRETS: Readonly<Record<string, string>> = {
  'operator-key': 'an-operator-key-of-tests',
  'postgres-url': 'postgres://evidence:password@database:5432/evidence',
}

/** The configuration by the settings that a file names, as `NAME=value` or `NAME: value`. */
function configIn(path: string) {
  const text = readFileSync(path, 'utf8').replaceAll(/^\s*#.*$/gm, '')
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
  const probes = /```yaml\n([^]*?)```/.exec(readFileSync('server/OPERATIONS.md', 'utf8'))?.[1] ?? ''
  assert.deepEqual(probes.match(/port: \w+/g), ['port: operations', 'port: operations', 'port: operations'])
  assert.match(probes, new RegExp(`operations, containerPort${port.replace(':', ': ')}`))
})
