import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

describe('evidence-registry monitor', () => {
  const acme = new CompanyRequests()
  const directory = temporaryOfSuite()
  const path = (name: string): string => join(directory, name)
  const monitor = (...more: readonly string[]) =>
    runCli(['monitor', acme.service.url, '--policy', path('policy.json'), '--state', path('state'), ...more])
  const seal = () => acme.service.registry.sealNow()
  before(async () => {
    for (const id of ['a', 'b', 'c']) await acme.create(id)
    await seal()
    await writeFile(path('policy.json'), JSON.stringify(await acme.service.registry.log.policy()))
  })

  it('follows a log over HTTP, and writes metrics', async () => {
    const { stdout } = await ends(0, monitor('--once', '--metrics', path('metrics')))
    assert.equal(stdout, '')
    assert.match(await readFile(path('metrics'), 'utf8'), /^evidence_monitor_entries [1-9]\d*$/m)
    assert.match(await readFile(path('metrics'), 'utf8'), /^evidence_monitor_alarm\{kind="fork"\} 0$/m)
  })

  it('says from its own state whether a bundle is the newest of its history', async () => {
    const query = { fields: 'none', files: 'none', history: 'true' }
    const save = async (name: string): Promise<void> =>
      writeFile(path(name), (await acme.call('getBundle', { ...of('a'), query })).text, 'latin1')
    await save('a.json')
    const ask = (name: string) => monitor('--ask', path(name))
    assert.equal(JSON.parse((await ends(0, ask('a.json'))).stdout).state, 'fresh')
    await acme.ok('updateEvidence', { ...of('a'), json: { summary: 'x' } })
    await seal()
    await save('newer.json')
    assert.match((await ends(3, ask('newer.json'))).stdout, /has not read the log so far/)
    await ends(0, monitor('--once'))
    assert.equal(JSON.parse((await ends(1, ask('a.json'))).stdout).state, 'stale')
    const single = await acme.call('getBundle', { ...of('b'), query: { fields: 'all', files: 'none' } })
    await writeFile(path('b.json'), single.text, 'latin1')
    assert.match((await ends(3, ask('b.json'))).stdout, /no slotKey/)
    await writeFile(path('cut.json'), single.text.slice(1), 'latin1')
    assert.match((await ends(3, ask('cut.json'))).stdout, /does not verify/)
  })

  it('alarms if the log was changed under it, runs a command, and ends with 1', async () => {
    const state = JSON.parse(await readFile(path('state/state.json'), 'utf8'))
    const { verified } = state
    const other = { ...verified, subtrees: verified.subtrees.map(() => '00'.repeat(32)) }
    await writeFile(path('state/state.json'), JSON.stringify({ ...state, verified: other }))
    const command = `cat > ${JSON.stringify(path('alarm'))}`
    const { stdout } = await ends(1, monitor('--once', '--on-alarm', command))
    const alarm = JSON.parse(stdout)
    assert.deepEqual([alarm.alarm, alarm.notes.length], ['fork', 2])
    assert.equal(await readFile(path('alarm'), 'utf8'), stdout)
  })

  it('goes on if the command of an alarm ends before it has read the line', async () => {
    const state = JSON.parse(await readFile(path('state/state.json'), 'utf8'))
    // The line has this checkpoint too, and so more bytes than a pipe can hold.
    await writeFile(path('state/state.json'), JSON.stringify({ ...state, checkpoint: 'x'.repeat(1_000_000) }))
    await ends(1, monitor('--once', '--on-alarm', 'exit 0', '--metrics', path('metrics')))
    assert.match(await readFile(path('metrics'), 'utf8'), /^evidence_monitor_alarm\{kind="fork"\} 1$/m)
  })

  it('does not take a wrong policy, directory or number', async () => {
    await ends(2, monitor('--interval', '0'))
    await ends(2, runCli(['monitor', acme.service.url, '--policy', path('none'), '--state', path('state')]))
    await ends(2, runCli(['monitor', 'evidence.example', '--policy', path('policy.json'), '--state', path('state')]))
  })
})
