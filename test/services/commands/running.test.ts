import assert from 'node:assert/strict'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { OPERATOR_ENV, RunningRegistry } from '../../support/running-registry.ts'
import { runCli, ServerProcess, ends } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

const LOCAL = { ...OPERATOR_ENV, EVIDENCE_TSA: 'none', EVIDENCE_ANCHOR: 'none' }
/** The server does not seal by itself within a test. */
const NEVER_SEALS = { ...LOCAL, EVIDENCE_SEAL_MAX_WAIT_MS: '3600000' }

it('seal and keys list work on a running server, after it was killed, and on a stopped registry', async (t) => {
  const registry = await RunningRegistry.start(t, undefined, NEVER_SEALS)
  const { directory, server } = registry
  await registry.create('a')
  const args = ['--data-dir', directory]

  const running = await ends(0, runCli(['seal', ...args], LOCAL))
  assert.match(running.stdout, /^2 entries sealed, 2 in total\nevidence-registry\/[0-9a-f]{32}\n2\n/)
  const keys = await ends(0, runCli(['keys', 'list', ...args], LOCAL))
  assert.match(keys.stdout, /^1 to … +current +held +evidence-registry\/[0-9a-f]{32}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+\n$/)
  assert.match(server.stdout, /"operation":"seal".*command finished/)
  const vkey = keys.stdout.trim().split(' ').at(-1) ?? ''
  const marked = await runCli(['keys', 'mark-compromised', vkey, ...args], LOCAL)
  assert.match(marked.stderr, /Only an earlier key of the log can be marked: see keys list/)

  // The socket of the killed server stays behind.
  await registry.create('b')
  await server.stop('SIGKILL')
  assert.ok((await stat(join(directory, 'control.sock'))).isSocket())
  assert.deepEqual(await runCli(['keys', 'list', ...args], LOCAL), keys)
  const stopped = await ends(0, runCli(['seal', ...args], LOCAL))
  assert.match(stopped.stdout, /^1 entries sealed, 3 in total\n/)

  const again = await RunningRegistry.start(t, directory, NEVER_SEALS)
  assert.match((await runCli(['seal', ...args], LOCAL)).stdout, /^0 entries sealed, 3 in total\n/)
  assert.equal(await again.server.stop(), 0)
  assert.ok(!(await readdir(directory)).includes('control.sock'))
})

it('a key is generated, rejected if there is none, and rotated on a running and on a stopped registry', async (t) => {
  const registry = await RunningRegistry.start(t, undefined, NEVER_SEALS)
  const { directory, server, url } = registry
  await registry.create('a')
  const run = async (...command: readonly string[]) => {
    const outcome = await ends(0, runCli([...command, '--data-dir', directory], LOCAL))
    return outcome.stdout
  }
  await run('seal')
  const none = await ends(2, runCli(['keys', 'rotate', '--data-dir', directory], LOCAL))
  assert.match(none.stderr, /There is no new checkpoint key: run evidence-registry keys generate first/)

  const [, publicKey = ''] = /: new key (\S+)\n$/.exec(await run('keys', 'generate')) ?? []
  assert.ok(
    (await run('keys', 'list'))
      .split('\n')[1]
      ?.match(/^- +pending +held +/)
      ?.input?.endsWith(`+${publicKey}`),
  )
  assert.match(await run('keys', 'rotate'), /^from tree size 3 on: \S+\n$/)
  await registry.create('b')
  assert.match(await run('seal'), /^2 entries sealed, 4 in total\n/)
  const policy = (await (await fetch(`${url}/api/v1/log/policy`)).json()) as {
    readonly keys: readonly { readonly from: number; readonly until: number | null }[]
  }
  const ranges = policy.keys.map(({ from, until }) => ({ from, until }))
  assert.deepEqual(ranges, [
    { from: 1, until: 2 },
    { from: 3, until: null },
  ])

  assert.equal(await server.stop(), 0)
  await run('keys', 'generate')
  await run('keys', 'rotate')
  const states = (await run('keys', 'list')).match(/retired|current|pending/g)
  assert.deepEqual(states, ['retired', 'retired', 'current'])
  assert.match(await run('fsck'), /nothing differs/)
})

it('share prints a link once, of a running server and of a stopped registry, and never logs its secret', async (t) => {
  const publicUrl = 'https://registry.example/er'
  const env = { ...NEVER_SEALS, EVIDENCE_PUBLIC_URL: publicUrl }
  const registry = await RunningRegistry.start(t, undefined, env)
  const { directory, server, url } = registry
  await registry.create('bike 1')
  const args = ['bike 1', '--company', 'acme', '--data-dir', directory]
  const share = async (...more: readonly string[]) => {
    const { stdout } = await ends(0, runCli(['share', ...args, ...more], env))
    const [, id = '', secret = ''] =
      /^https:\/\/registry\.example\/er\/ui\/#\/p\/([^.]+)\.([\w-]{22})\n$/.exec(stdout) ?? []
    return { id, secret }
  }
  const open = async (at: string, { id, secret }: Awaited<ReturnType<typeof share>>) =>
    (await fetch(`${at}/api/v1/shares/${id}`, { headers: { 'x-share-secret': secret } })).json() as Promise<{
      readonly bundle: { readonly events: readonly { readonly fields: object }[] }
      readonly files: readonly object[]
    }>

  const running = await share(
    '--field',
    'name',
    '--field',
    'owner',
    '--file',
    'all',
    '--expires',
    '2999-01-01T00:00:00Z',
  )
  const opened = await open(url, running)
  assert.ok('name' in (opened.bundle.events[0]?.fields ?? {}))
  assert.equal(opened.files.length, 1)
  for (const wrong of [
    ['--field', 'slotKey'],
    ['--expires', 'tomorrow'],
    ['--file', 'image'],
  ]) {
    const refused = await ends(1, runCli(['share', ...args, ...wrong], env))
    assert.equal(refused.stdout, '')
  }
  assert.equal(await server.stop(), 0)
  assert.ok(!server.output.includes(running.secret))

  const stopped = await share()
  const without = await ends(2, runCli(['share', ...args], LOCAL))
  assert.match(without.stderr, /EVIDENCE_PUBLIC_URL/)
  const again = await RunningRegistry.start(t, directory, env)
  const little = await open(again.url, stopped)
  assert.deepEqual([Object.keys(little.bundle.events[0]?.fields ?? {}), little.files], [['action'], []])
  const { shares } = await again.client.listShares({ externalId: 'bike 1' })
  assert.deepEqual(
    shares.map(({ actor, expiresAt }) => [actor, expiresAt]),
    [
      ['operator', undefined],
      ['operator', '2999-01-01T00:00:00.000Z'],
    ],
  )
})

it('a command creates no registry, and says why it cannot reach a server', async (t) => {
  const directory = await temporaryFor(t)
  const nothing = await ends(2, runCli(['seal', '--data-dir', directory], LOCAL))
  assert.match(nothing.stderr, /There is no registry in/)
  assert.deepEqual(await readdir(directory), [])

  const long = join(directory, 'x'.repeat(120))
  await mkdir(long)
  const server = new ServerProcess(long, LOCAL)
  t.after(() => server.stop('SIGKILL'))
  await server.ready()
  assert.match(server.output, /accepts no commands: The path of a Unix socket has at most/)
  const unreachable = await ends(1, runCli(['seal', '--data-dir', long], LOCAL))
  assert.match(unreachable.stderr, /is in use: process .*The path of a Unix socket has at most/s)
})
