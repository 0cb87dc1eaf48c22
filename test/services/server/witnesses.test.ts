import assert from 'node:assert/strict'
import { cp, rename, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { listenOnLoopback } from '../../support/ports.ts'
import { RunningRegistry } from '../../support/running-registry.ts'
import { ends, runCli, ServerProcess, type Environment } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { policyOf, treeOf } from '../../support/witness.ts'
import { WitnessProcess } from '../../support/witness-process.ts'

/** Without an authority and an anchor, a log grows by events only. */
const QUIET = { EVIDENCE_TSA: 'none', EVIDENCE_ANCHOR: 'none', EVIDENCE_WITNESS_INTERVAL_MS: '1000' }

/** A registry, and three witnesses in processes of their own, of which two are a quorum. */
async function start(t: TestContext, more: Environment = {}) {
  const names = ['wit.example/1', 'wit.example/2', 'wit.example/3']
  const witnesses = await Promise.all(names.map((name) => WitnessProcess.start(t, name)))
  const policy = join(await temporaryFor(t), 'witnesses.policy')
  await writeFile(policy, policyOf(witnesses, 2))
  const env = { ...QUIET, ...more, EVIDENCE_WITNESS_POLICY: policy }
  const registry = await RunningRegistry.start(t, undefined, env)
  const { extensions } = await registry.client.getPolicy()
  for (const witness of witnesses) witness.set({ logKey: String(extensions?.['submissionKey']) })
  const [one, two, three] = witnesses as [WitnessProcess, WitnessProcess, WitnessProcess]
  return { one, two, three, all: witnesses, env, registry, directory: registry.directory }
}

/** The checkpoint that the registry shows, once it has more entries than `above` and exactly these cosignatures. */
async function cosignedBy({ url }: Pick<RunningRegistry, 'url'>, witnesses: readonly WitnessProcess[], above = 0) {
  let note = ''
  const wanted = witnesses.map(({ name }) => name)
  return eventually(
    async () => {
      note = await checkpointOf(url)
      const cosigners = Array.from(note.matchAll(/^— (wit\.example\/\d)/gm), ([, name = '']) => name)
      const isIt = cosigners.toSorted().join() === wanted.join()
      return treeOf(note).size > above && isIt && note
    },
    () => `${wanted.join()} and no others have not cosigned ${note}`,
  )
}

const checkpointOf = async (url: string): Promise<string> => (await fetch(`${url}/api/v1/log/checkpoint`)).text()

/** Adds an event, and waits until these witnesses, and no others, have cosigned it. Returns the size of the log. */
async function grow(registry: RunningRegistry, witnesses: readonly WitnessProcess[]): Promise<number> {
  // Before the first event there is no checkpoint.
  const size = treeOf(await checkpointOf(registry.url)).size || 0
  await registry.create(`e-${size}`)
  return treeOf(await cosignedBy(registry, witnesses, size)).size
}

/** What `/readyz` says, as soon as it names this code. */
const readinessWith = ({ url }: RunningRegistry, code: string): Promise<string> =>
  eventually(async () => {
    const text = await (await fetch(`${url}/readyz`)).text()
    return text.includes(code) && text
  })

async function assertHealthy({ url }: RunningRegistry): Promise<void> {
  await eventually(async () => {
    const { status, failures } = JSON.parse(await (await fetch(`${url}/readyz`)).text())
    return status === 'ok' && failures === undefined
  })
}

/** Sets up a monitor that pins the policy of the registry. Each call is one round, and returns the alarms. */
async function monitorOf(t: TestContext, { url }: Pick<RunningRegistry, 'url'>) {
  const directory = await temporaryFor(t)
  const policy = join(directory, 'policy.json')
  await writeFile(policy, await (await fetch(`${url}/api/v1/log/policy`)).text())
  return async (at = url): Promise<readonly Alarm[]> => {
    const run = runCli(['monitor', at, '--policy', policy, '--state', join(directory, 'state'), '--once'])
    const { code, stdout, stderr } = await run
    const alarms = stdout
      .split('\n')
      .filter(Boolean)
      .map((line): Alarm => JSON.parse(line))
    assert.equal(code, alarms.length > 0 ? 1 : 0, stderr + stdout)
    return alarms
  }
}

interface Alarm {
  readonly alarm: string
  readonly notes?: readonly string[]
}

const kindsOf = (alarms: readonly Alarm[]): readonly string[] => alarms.map(({ alarm }) => alarm)

/** Copies the data directory while no server runs, and returns the path of the copy. */
async function copied(t: TestContext, { server, directory }: RunningRegistry): Promise<string> {
  const copy = join(await temporaryFor(t), 'data')
  await server.stop()
  await cp(directory, copy, { recursive: true })
  return copy
}

/** A server in front of a registry, which can be changed without the clients knowing. */
async function switchingProxy(t: TestContext) {
  const proxy = { url: '', target: '' }
  const server = createServer(({ url = '', method, headers }, response) => {
    request(proxy.target + url, { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers)
      reply.pipe(response)
    }).end()
  })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  proxy.url = `http://127.0.0.1:${await listenOnLoopback(server)}`
  return proxy
}

describe('a registry with three witnesses', () => {
  it('has a quorum while one is slow, after one lost its state, and over a rotation', async (t) => {
    const { one, two, three, all, registry, directory } = await start(t)
    three.set({ mode: 'slow' })
    await grow(registry, [one, two])
    const monitor = await monitorOf(t, registry)
    assert.deepEqual(await monitor(), [])
    three.set({ mode: 'honest' })
    await grow(registry, all)
    await two.restartWith()
    await grow(registry, all)
    await ends(0, runCli(['keys', 'generate', '--data-dir', directory]))
    await ends(0, runCli(['keys', 'rotate', '--data-dir', directory]))
    const size = await grow(registry, all)
    assert.equal(treeOf(await two.seen()).size, size)
    assert.deepEqual(await monitor(), [])
    await assertHealthy(registry)
  })

  it('asks a witness that saw another history no more until it is resumed, and stops if it shows a fork', async (t) => {
    const { one, two, three, all, env, registry, directory } = await start(t)
    const size = await grow(registry, all)
    const monitor = await monitorOf(t, registry)
    three.set({ mode: 'hidden' })
    const copy = await copied(t, registry)
    const onlyThree = join(copy, 'only-three.policy')
    await writeFile(onlyThree, policyOf([three], 1))
    const fork = await RunningRegistry.start(t, copy, { ...env, EVIDENCE_WITNESS_POLICY: onlyThree })
    await fork.create('forked')
    await cosignedBy(fork, [three], size)
    await fork.server.stop()
    const forked = await three.seen()

    const again = await RunningRegistry.start(t, directory, env)
    await grow(again, [one, two])
    assert.match(await readinessWith(again, 'WITNESS_OTHER_HISTORY'), /"status":"ok"/)
    await grow(again, [one, two])
    const asked = three.submissions
    for (let round = 0; round < 2; round++) await grow(again, [one, two])
    assert.equal(three.submissions, asked)
    assert.deepEqual(await monitor(again.url), [])
    await three.restartWith(await one.seen())
    await ends(0, runCli(['witnesses', 'resume', 'w3', '--data-dir', directory], env))
    await grow(again, all)
    await assertHealthy(again)

    three.set({ mode: 'honest' })
    await three.restartWith(forked)
    assert.match(await readinessWith(again, 'LOG_BEHIND_SIGNED'), /"status":"unavailable"/)
    await assert.rejects(again.create('refused'), { status: 503 })
    await again.server.stop()
    const refused = new ServerProcess(directory, env)
    t.after(() => refused.stop('SIGKILL'))
    assert.equal(await refused.ended(), 1)
    assert.match(refused.output, /was set back or replaced/)
  })

  it('signs nothing after its records were set back to before a rotation, and goes on with the newest', async (t) => {
    const keyring = join(await temporaryFor(t), 'checkpoint-keys.json')
    const flags = ['--checkpoint-keys', keyring]
    const { all, env, registry, directory } = await start(t, { EVIDENCE_CHECKPOINT_KEYS: keyring })
    const size = await grow(registry, all)
    const monitor = await monitorOf(t, registry)
    const copy = await copied(t, registry)
    const before = await RunningRegistry.start(t, directory, env)
    await ends(0, runCli(['keys', 'generate', ...flags]))
    await ends(0, runCli(['keys', 'rotate', '--data-dir', directory, ...flags]))
    await grow(before, all)
    assert.deepEqual(await monitor(before.url), [])
    await before.server.stop()

    const newest = join(await temporaryFor(t), 'data')
    await rename(directory, newest)
    await rename(copy, directory)
    const setBack = await RunningRegistry.start(t, directory, env)
    assert.match(await readinessWith(setBack, 'LOG_BEHIND_SIGNED'), /WITNESS_AHEAD/)
    assert.equal(treeOf(await checkpointOf(setBack.url)).size, size)
    assert.deepEqual(kindsOf(await monitor(setBack.url)), ['roll-back'])
    await setBack.server.stop()

    const restored = await RunningRegistry.start(t, newest, env)
    await grow(restored, all)
    assert.deepEqual(await monitor(restored.url), [])
    await assertHealthy(restored)
  })

  it('cannot show two trees to two people', async (t) => {
    const { all, env, registry, directory } = await start(t)
    const size = await grow(registry, all)
    const proxy = await switchingProxy(t)
    const [ada, bob] = [await monitorOf(t, registry), await monitorOf(t, registry)]
    const copy = await copied(t, registry)
    const shownToAda = await RunningRegistry.start(t, directory, env)
    const shownToBob = await RunningRegistry.start(t, copy, QUIET)
    await grow(shownToAda, all)
    await shownToBob.create('only for Bob')
    await cosignedBy(shownToBob, [], size)

    proxy.target = shownToAda.url
    assert.deepEqual(await ada(proxy.url), [])
    proxy.target = shownToBob.url
    assert.deepEqual(kindsOf(await bob(proxy.url)), ['witnesses'])
    const [fork, ...others] = await ada(proxy.url)
    assert.deepEqual([fork?.alarm, others], ['fork', []])
    const trees = (fork?.notes ?? []).map(treeOf)
    assert.deepEqual([trees[0]?.size, trees[1]?.size], [size + 1, size + 1])
    assert.notDeepEqual(trees[0]?.root, trees[1]?.root)
  })
})
