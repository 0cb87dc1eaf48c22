import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { certificateToPem } from '../../../adapters/local-tsa/certificates.ts'
import { FakeNode } from '../../support/fake-node.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { authorityNamed, derOf } from '../../support/test-authority.ts'
import { TestWitness } from '../../support/witness.ts'

describe('config check', () => {
  it('shows each setting with its source, no secret, and writes nothing', async (t) => {
    const directory = await temporaryFor(t)
    const file = join(await temporaryFor(t), 'settings.json')
    await writeFile(file, JSON.stringify({ sealMaxWaitMs: 17 }))
    const env = { EVIDENCE_OPERATOR_KEY: 'the-operator-key-of-a-test', EVIDENCE_CONFIG: file, EVIDENCE_PORT: '9000' }
    const { stdout } = await ends(0, runCli(['config', 'check', '--data-dir', directory], env))
    for (const line of [
      `EVIDENCE_DATA_DIR = ${directory}  [--data-dir]`,
      'EVIDENCE_PORT = 9000  [EVIDENCE_PORT]',
      `EVIDENCE_SEAL_MAX_WAIT_MS = 17  [${file}: sealMaxWaitMs]`,
      'EVIDENCE_OPERATOR_KEY = (secret)  [EVIDENCE_OPERATOR_KEY]',
      'EVIDENCE_HOST = 127.0.0.1  [default]',
    ])
      assert.ok(stdout.includes(`${line}\n`), line)
    assert.ok(!stdout.includes('the-operator-key'), stdout)
    assert.match(stdout, /\nok {6}data directory: .* MiB free\nok {6}secrets and keys: /)
    assert.deepEqual(await readdir(directory), [])
  })

  it('tries each store, authority, node and witness alone, and says what to do about those that fail', async (t) => {
    const node = await FakeNode.start(t)
    const folder = await temporaryFor(t)
    const ca = join(folder, 'ca.pem')
    await writeFile(ca, certificateToPem(derOf((await authorityNamed('a')).certificate)))
    const store = join(folder, 'broken.mjs')
    await writeFile(store, 'export default () => ({ close() {} })')
    const [witness, lost] = [await TestWitness.start(t, 'wit.example/1'), await TestWitness.start(t, 'wit.example/2')]
    const witnesses = join(folder, 'witnesses.policy')
    const lines = [`witness up ${witness.vkey} ${witness.url}`, `witness down ${lost.vkey} http://127.0.0.1:1`]
    await writeFile(witnesses, [...lines, 'quorum none', ''].join('\n'))
    const unreachable = {
      EVIDENCE_WITNESS_POLICY: witnesses,
      EVIDENCE_BLOBS: store,
      EVIDENCE_TSA: 'rfc3161',
      EVIDENCE_TSA_URL: 'http://127.0.0.1:1/hunter2',
      EVIDENCE_TSA_CA: ca,
      EVIDENCE_ANCHOR: 'evm',
      EVIDENCE_EVM_CHAIN_ID: '31337',
      EVIDENCE_EVM_RPC_URL: `http://127.0.0.1:1,${node.url}`,
      EVIDENCE_EVM_PRIVATE_KEY: 'ab'.repeat(32),
    }
    const args = ['config', 'check', '--data-dir', join(folder, 'new', 'data')]
    const { stdout } = await ends(1, runCli(args, unreachable))
    const results = stdout.split('\n').filter((line) => /^(?:ok|FAILED) /.test(line))
    const expected = [
      /^ok .*data directory: .*, to be created, \d+ MiB free$/,
      /^ok .*secrets and keys: /,
      /^FAILED .*files \(.*broken\.mjs\): .* must return an object with put, get, delete/,
      /^FAILED .*timestamp authority \(127\.0\.0\.1:1\): .*ECONNREFUSED/,
      /^FAILED .*EVM chain \(node 1\): .*ECONNREFUSED/,
      /^ok .*EVM chain \(node 2\): the account 0x[0-9a-fA-F]{40} can anchor$/,
      /^ok .*witness \(up\): it responds$/,
      /^FAILED .*witness \(down\): .*ECONNREFUSED/,
    ]
    assert.doesNotMatch(stdout, /hunter2/)
    assert.equal(results.length, expected.length, stdout)
    for (const [i, pattern] of expected.entries()) assert.match(results[i] ?? '', pattern)
    assert.ok(!stdout.includes('ab'.repeat(32)), stdout)
  })

  it('ends with 2 for a setting that cannot be read, and with 1 for a lost folder', async (t) => {
    const wrong = await runCli(['config', 'check', '--port', 'x'])
    assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
    assert.match(wrong.stderr, /--port must be an integer/)
    const directory = await temporaryFor(t)
    await mkdir(join(directory, 'records'))
    await writeFile(join(directory, 'registry.json'), '{"origin":"x/1","id":"x","folders":["blobs","records"]}')
    const lost = await ends(1, runCli(['config', 'check', '--data-dir', directory]))
    assert.match(lost.stdout, /FAILED {2}data directory: .*blobs is missing.* Mount its volume/)
  })
})
