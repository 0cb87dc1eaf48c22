import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { freePort } from '../../support/ports.ts'
import { programArgs } from '../../support/repository.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

describe('the commands for people who have files', () => {
  const acme = new CompanyRequests()
  const directory = temporaryOfSuite()
  const path = (name: string): string => join(directory, name)
  before(async () => {
    await mkdir(path('dist'))
    await writeFile(path('dist/app.tgz'), 'an archive')
    await writeFile(path('dist/app.sbom'), 'a list')
    await writeFile(path('policy.json'), JSON.stringify(await acme.service.registry.log.policy()))
  })

  const run = (...args: readonly string[]) =>
    runCli([...args, '--url', acme.service.url, '--company', 'acme'], { EVIDENCE_API_KEY: acme.company.keys.I })
  const files = ['dist/app.tgz', 'dist/app.sbom']
  const add = (prefix: string, ...more: readonly string[]) =>
    run('add', ...files.map(path), '--category', 'Builds/App', '--prefix', prefix, ...more)

  it('create an evidence for each file, once', async () => {
    const { code, stdout, stderr } = await add('v1/', '--meta', 'commit=a=b', '--owner', 'Ada')
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^v1\/app\.tgz {2}[0-9a-f]{64}\nv1\/app\.sbom {2}[0-9a-f]{64}\n$/)
    const { object } = await acme.ok('getEvidence', { params: { EVIDENCE_EXTERNAL_ID: 'v1/app.tgz' } })
    assert.deepEqual([object.name, object.owner, object.meta], ['app.tgz', 'Ada', { commit: 'a=b' }])
    const [file] = await acme.files('v1/app.tgz')
    const content = await acme.service.fetch(`/api/v1/evidences/acme/file?fileId=${file.overlayId}`, {
      headers: { 'x-api-key': acme.company.keys.R },
    })
    assert.deepEqual([file.name, await content.text()], ['app.tgz', 'an archive'])
    const again = await add('v1/', '--json')
    const lines = again.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const shown = lines.map(({ externalId, wasPresent }) => [externalId, wasPresent])
    assert.deepEqual(shown, [
      ['v1/app.tgz', true],
      ['v1/app.sbom', true],
    ])
    await writeFile(path('app.tgz'), 'another archive')
    const other = await run('add', path('app.tgz'), '--category', 'Builds/App', '--prefix', 'v1/')
    assert.deepEqual([other.code, other.stdout], [1, ''])
    assert.match(other.stderr, /^evidence-registry add: POST \S+: .* \(EXTERNAL_ID_EXISTS\)\n$/)
  })

  it('print what there is', async () => {
    await acme.create('e\u202e1', { name: 'A thing', owner: 'Grace' })
    const list = await ends(0, run('list', '--q', 'thing'))
    assert.match(list.stdout, /^e\\u\{202e\}1 {2}A thing {2}Grace {2}\d{4}-\S+Z\n$/)
    const json = await run('list', '--owner', 'Grace', '--json')
    assert.equal((JSON.parse(json.stdout) as { name: string }).name, 'A thing')
    const got = await run('get', 'e\u202e1')
    assert.match(got.stdout, /\nname {2}A thing\n(?:.*\n)*1 {2}\S+Z {2}create {2}Grace {2}[0-9a-f]{64} {2}[-PSC]\n$/)
    const missing = await run('get', 'nothing')
    assert.deepEqual([missing.code, missing.stdout], [1, ''])
    assert.match(missing.stderr, /\(EVIDENCE_NOT_FOUND\)\n$/)
  })

  it('erase only with --yes', async () => {
    const env = { EVIDENCE_API_KEY: acme.company.keys.A }
    const more = ['--url', acme.service.url, '--company', 'acme', '--reason', 'request']
    const erase = (...args: readonly string[]) => runCli(['erase', ...args, ...more], env)
    for (const id of ['e-1', 'e-2']) await acme.create(id, { owner: 'Alan Turing', summary: 'a machine' })
    const part = ['--evidence', 'e-1', '--field', 'summary', '--field', 'owner']
    const note = 'Nothing is erased yet. To erase it, add --yes\n'
    const dry = await ends(0, erase(...part))
    assert.deepEqual([dry.stdout, dry.stderr], ['1  owner  -\n1  summary  -\n', note])
    assert.equal((await ends(0, erase(...part, '--yes'))).stdout, dry.stdout)
    const found = await ends(0, erase('--subject', 'alan turing'))
    assert.deepEqual([found.stdout, found.stderr], ['1  owner  e-2\n', note])
    const args = [...programArgs('server/cli.ts'), 'erase', '--subject', '-', '--yes', '--json', ...more]
    const running = promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })
    running.child.stdin?.end('ALAN Turing\n')
    assert.equal((JSON.parse((await running).stdout) as { externalId: string }).externalId, 'e-2')
    const { object } = await acme.page('e-2')
    assert.deepEqual([object.owner, object.summary], [undefined, 'a machine'])
    for (const wrong of [[], ['--subject', 'x', '--evidence', 'e-1']]) await ends(2, erase(...wrong))
    const refused = await ends(1, erase('--evidence', 'e-1'))
    assert.match(refused.stderr, /VALIDATION_ERROR/)
  })

  it('print events, after one that was printed before', async () => {
    await acme.create('watched')
    const first = await run('watch', '--after', 'first', '--once', '--json')
    const lines = first.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    assert.equal(lines.at(-1)?.['externalId'], 'watched', first.stderr)
    await acme.ok('updateEvidence', { ...of('watched'), json: { owner: 'Grace' } })
    const next = await run('watch', '--after', lines.at(-1)?.['cursor'] ?? '', '--once')
    assert.match(next.stdout, /^\S+Z {2}watched {2}2 {2}transfer {2}[0-9a-f]{64}\n$/)
    assert.equal((await run('watch', '--once')).stdout, '')
  })

  it('end with 2 for wrong use, before anything is created', async () => {
    for (const [args, expected] of [
      [['add', path('dist'), '--category', 'a/b'], /cannot read .*dist: it is not a file\n/],
      [['add', path('policy.json'), path('missing'), '--category', 'a/b'], /cannot read .*missing: it does not exist/],
      [
        ['add', path('policy.json'), '--category', 'a'],
        /expected --category CATEGORY\/SUBCATEGORY and --meta NAME=VALUE/,
      ],
      [['add', path('policy.json'), '--category', 'a/b', '--meta', 'x'], /expected --category/],
      [['add', '--category', 'a/b'], /expected FILE\.\.\., --url URL/],
      [['bundle', 'x', '--wait', 'long'], /--wait must be a number of seconds/],
      [['bundle', 'x', 'y', '--to', '-'], /--to - takes one EXTERNAL_ID/],
    ] as const) {
      const { code, stdout, stderr } = await run(...args)
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr, expected)
    }
    await acme.fails('getEvidence', 404, 'EVIDENCE_NOT_FOUND', { params: { EVIDENCE_EXTERNAL_ID: 'policy.json' } })
  })

  it('write a bundle to a file of its own, and replace no proof', async () => {
    const ids = ['v1/a', 'v1_a', 'V1_A', 'con', 'late']
    for (const id of ids) await acme.create(id)
    const save = async (...args: readonly string[]) => {
      const { code, stdout } = await run('bundle', ...args, '--to', path('saved'), '--json')
      const lines = stdout.trim().split('\n')
      return { code, files: lines.map((line) => String((JSON.parse(line) as Record<string, unknown>)['file'])) }
    }
    const first = await save(...ids, '--wait', '100000')
    assert.equal(new Set(first.files.map((file) => file.toLowerCase())).size, ids.length)
    assert.deepEqual(
      [first.files[1], first.files[4]],
      [path('saved/v1_a.evidence.json'), path('saved/late.evidence.json')],
    )
    assert.deepEqual((await save(...ids)).files, first.files)

    const proof = await readFile(path('saved/late.evidence.json'), 'utf8')
    await acme.ok('updateEvidence', { ...of('late'), json: { owner: 'Grace' } })
    const [later = ''] = (await save('late', '--wait', '100000')).files
    assert.equal(later, path('saved/late~2.evidence.json'))
    assert.equal(await readFile(path('saved/late.evidence.json'), 'utf8'), proof)
  })

  it('say why the service is not reached, and show no key that cannot be sent', async () => {
    const list = (url: string, key: string) =>
      runCli(['list', '--url', url, '--company', 'acme'], { EVIDENCE_API_KEY: key })
    const refused = await ends(1, list(`http://127.0.0.1:${await freePort()}`, 'a-key-of-the-company'))
    assert.match(refused.stderr, /connection refused by 127\.0\.0\.1:\d+: check the address/)
    const { stderr } = await ends(2, list(acme.service.url, 'a-secret-key-of-acme\n'))
    assert.equal(stderr, 'evidence-registry list: set EVIDENCE_API_KEY to a key of the company, without a line break\n')
  })

  it('are a step of a pipeline, as in the README', async () => {
    const [, script = ''] =
      /of a pipeline [^]*?```sh\n([^]*?)```/.exec(await readFile('server/README.md', 'utf8')) ?? []
    const patient = script.replace('--wait 120', '--wait 100000')
    const cli = [process.execPath, ...programArgs('server/cli.ts')].map((arg) => `'${arg}'`).join(' ')
    const { stdout } = await promisify(execFile)('sh', ['-euc', `npx() { shift 2; ${cli} "$@"; }\n${patient}`], {
      cwd: directory,
      env: {
        ...process.env,
        EVIDENCE_API_KEY: acme.company.keys.I,
        REGISTRY_URL: acme.service.url,
        BUILD: '17',
        COMMIT: 'c0ffee',
      },
    })
    const [sbom = '', tgz = '', ...proofs] = stdout.split('\n')
    assert.match(`${sbom} ${tgz}`, /^17\/app\.sbom {2}\w{64} 17\/app\.tgz {2}\w{64}$/)
    assert.equal(proofs.filter((line) => /^17_app_tgz~\w{16}\.evidence\.json: PROVEN$/.test(line)).length, 1, stdout)
    assert.match(stdout, /^app\.sbom: MATCHES: it is the content of file /m)
  })
})
