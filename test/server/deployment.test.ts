import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { loadConfig } from '../../server/index.ts'

/** Checks that the command can be started, and that the files for containers and systemd agree with it. */
const read = (path: string): string => readFileSync(path, 'utf8')
const manifest = JSON.parse(read('package.json')) as {
  readonly name: string
  readonly bin: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}
const bin = (manifest.bin['evidence-registry'] ?? '').replace('./', '')

/** Returns the settings in a text, as `NAME=value` or `NAME: value`. Files of secrets get a value of their own. */
function settingsIn(text: string): Record<string, string> {
  const matches = text.matchAll(/^(?!\s*#).*?\b(EVIDENCE_[A-Z_]+)[=:] ?(\S+)/gm)
  return Object.fromEntries(Array.from(matches, ([, name, value]) => [name, value] as [string, string]))
}

const secrets: Readonly<Record<string, string>> = {
  'operator-key': 'an-operator-key-of-tests',
  'postgres-url': 'postgres://evidence:password@database:5432/evidence',
}
const readFile = (path: string): Uint8Array => Buffer.from(secrets[path.replace('/run/secrets/', '')] ?? '')

it('the image contains every optional package of the server, and starts the command', () => {
  const dockerfile = read('server/Dockerfile')
  for (const name of Object.keys(manifest.peerDependencies).filter((peer) => peer !== 'fast-check'))
    assert.match(dockerfile, new RegExp(`^ .*${name}`, 'm'))
  assert.ok(dockerfile.includes(`ENTRYPOINT ["node", "/app/${bin}"]`))
  assert.match(dockerfile, /^USER node$/m)
  const env = Object.fromEntries(
    Array.from(
      dockerfile.matchAll(/(EVIDENCE_[A-Z_]+)=(\S+)/g),
      ([, name, value]) => [name, value] as [string, string],
    ),
  )
  assert.equal(loadConfig({ args: [], env }).dataDir, '/data')
})

it('the image has the newest version of Node that CI tests', () => {
  const [, tested] = /\$\{CI_NODE_VERSIONS-[\d ]*?(\d+)\}/.exec(read('.ci/run')) ?? []
  const [, used] = /^ARG NODE_IMAGE=\S+\/node:(\d+)-/m.exec(read('server/Dockerfile')) ?? []
  assert.ok(tested)
  assert.equal(used, tested)
})

it('the compose file has settings that exist', () => {
  const config = loadConfig({ args: [], env: settingsIn(read('server/compose.yaml')), readFile })
  assert.deepEqual([config.records, config.anchor, config.tsa], ['postgres', 'none', 'none'])
  assert.equal(config.postgresUrl, secrets['postgres-url'])
})

it('the systemd unit starts the command of an installed package', () => {
  const unit = read('server/evidence-registry.service')
  assert.ok(unit.includes(`/node_modules/${manifest.name}/${bin}\n`))
  assert.equal(loadConfig({ args: [], env: settingsIn(unit) }).dataDir, '/var/lib/evidence-registry')
})
