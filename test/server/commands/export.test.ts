import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { CompanyRequests } from '../../support/company-requests.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

const COUNT = 50

describe('evidence-registry export', () => {
  const acme = new CompanyRequests()
  const directory = temporaryOfSuite()
  const path = (name: string): string => join(directory, name)
  before(async () => {
    for (let i = 0; i < COUNT; i++) await acme.create(`e-${i}`, { summary: 's'.repeat(8_000) })
    await acme.service.until(() => {
      const { sealedSize, anchoredSize, stampedSize } = acme.service.registry.status()
      return sealedSize > COUNT && sealedSize === anchoredSize && sealedSize === stampedSize
    }, 'all is sealed, stamped and anchored')
    await writeFile(path('policy.json'), JSON.stringify(await acme.service.registry.log.policy()))
  })

  const run = (args: readonly string[], key = acme.company.keys.R) =>
    runCli(['export', '--url', acme.service.url, '--company', 'acme', ...args], { EVIDENCE_API_KEY: key })
  const verify = (name: string, ...args: readonly string[]) =>
    runCli(['verify', '--export', path(name), '--policy', path('policy.json'), ...args])

  it('writes a file that verify proves, in several parts', async () => {
    const { code, stdout, stderr } = await run(['--to', path('acme.ndjson')])
    assert.deepEqual([code, stdout], [0, `${path('acme.ndjson')}: ${COUNT} evidences\n`], stderr)
    const { size, state } = { size: (await readFile(path('acme.ndjson'))).length, state: await verify('acme.ndjson') }
    assert.ok(size > 300_000, `more than one part, not ${size} bytes`)
    assert.equal(state.code, 0, state.stdout)
    assert.match(
      state.stdout,
      /^acme\.ndjson: PROVEN\nlog \S+\ncompany acme, .*\n50 evidences with 50 events: .*\n {2}50 .* not later than 2/,
    )
    const json = JSON.parse((await verify('acme.ndjson', '--json')).stdout) as { state: string; sealedEvents: number }
    assert.deepEqual([json.state, json.sealedEvents], ['proven', COUNT])
    const again = await run(['--to', path('acme.ndjson')])
    assert.deepEqual([again.code, again.stdout], [2, ''])
    assert.match(again.stderr, /acme\.ndjson exists: name another file with --to\n$/)
  })

  it('goes to standard output, as one bundle does, and a backup does not', async () => {
    const env = { EVIDENCE_API_KEY: acme.company.keys.R, NODE_NO_WARNINGS: '1' }
    const of = ['--url', acme.service.url, '--company', 'acme', '--to', '-']
    const { stdout } = await ends(0, runCli(['export', ...of], env))
    await writeFile(path('piped.ndjson'), stdout)
    await ends(0, verify('piped.ndjson'))
    const bundle = await ends(0, runCli(['bundle', 'e-1', ...of], env))
    assert.equal((JSON.parse(bundle.stdout) as { format: string }).format, 'evidence-registry.bundle')
    for (const args of [
      ['backup', '--to', '-'],
      ['restore', '--from', '-'],
    ])
      assert.match((await ends(2, runCli(args, {}))).stderr, /a backup is a directory/)
  })

  it('ends with 1 if the service refuses it, and with 2 for wrong use', async () => {
    const refused = await run(['--to', path('x.ndjson')], 'no-key-of-this-company')
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(refused.stderr, /^evidence-registry export: GET \S+: Unauthorized \(UNAUTHORIZED\)\n$/)
    for (const outcome of [
      await run(['--to', path('x.ndjson')], ''),
      await runCli(['export', '--url', 'ftp://x', '--company', 'acme'], { EVIDENCE_API_KEY: 'x' }),
      await verify('policy.json'),
      await verify('missing'),
      await verify('policy.json', '--rpc', 'http://localhost'),
    ])
      assert.deepEqual([outcome.code, outcome.stdout], [2, ''], outcome.stderr)
  })

  it('is sent as a download', async () => {
    const response = await acme.service.fetch('/api/v1/evidences/acme/export', {
      headers: { 'x-api-key': acme.company.keys.R },
    })
    assert.equal(response.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
    assert.match(response.headers.get('content-disposition') ?? '', /filename="acme\.evidence\.ndjson"/)
    await response.body?.cancel()
  })
})
