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
  assert.equal(configIn('server/evidence-registry.service').dataDir, '/var/lib/evidence-registry')
})
