import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Bundle } from '../../../core/index.ts'
import { blocksOnChain, nameOf } from '../../../server/commands/verify-blocks.ts'
import type { Members } from '../../core/verify/bundle-forger.ts'
import { present } from '../../support/present.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { ForgedWitness } from '../../core/verify/forged-witness.ts'
import { ofSuite } from '../../support/of-suite.ts'

const dataUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`

/** An option of Node with which imports do not find a package. */
function withoutPackage(name: string): string {
  const hook = `export const resolve = (specifier, context, next) => {
    if (specifier.startsWith('${name}')) throw new Error('it is hidden')
    return next(specifier, context)
  }`
  const hooks = JSON.stringify(dataUrl(hook))
  return `--import=${dataUrl(`import { register } from 'node:module'; register(${hooks})`)}`
}

describe('evidence-registry verify', () => {
  const directory = temporaryOfSuite()
  let bundle: Bundle
  const path = (name: string): string => join(directory, name)
  const save = (name: string, value: unknown): Promise<void> =>
    writeFile(path(name), typeof value === 'string' ? value : JSON.stringify(value))
  const registry = ofSuite(() => openBundleRegistry({ directory, anchor: 'evm' }))
  before(async () => {
    await registry().evidence({ owner: 'Ada\u202e', files: [await registry().stage('an original', 'a.txt')] })
    await save('pending.evidence.json', await registry().history())
    await registry().settle()
    bundle = await registry().history()
    await save('e-1.evidence.json', bundle)
    await save('policy.json', await registry().registry.log.policy())
    await save('policy.txt', await registry().registry.log.policyText())
    await save('original', 'an original')
    await save('another', 'another one')
  })
  async function exported(): Promise<string> {
    let text = ''
    for await (const part of registry().registry.proofs.exportCompany(registry().scope)) text += part
    return text
  }
  const verify = (...args: readonly string[]) => runCli(['verify', ...args])

  it('ends with 0 if all is proven, and says by whom', async () => {
    const file = path('e-1.evidence.json')
    const { stdout } = await ends(0, verify(file, '--policy', path('policy.json'), '--file', path('original')))
    const [verdict, scope, matching] = stdout.split('\n')
    assert.deepEqual(
      [verdict, scope],
      ['e-1.evidence.json: PROVEN', 'This one event only: later events, such as a theft, are not in it'],
    )
    assert.match(matching ?? '', /^original: MATCHES: it is the content of file [0-9a-f-]{36}$/)
    assert.match(stdout, /timestamp of tsa: \d{4}-.* \(the operator's own test authority: proves no time to others\)/)
    assert.doesNotMatch(stdout, /block \d+ of eip155:7.*test authority/)
    assert.match(stdout, /owner = "Ada\\u\{202e\}"/)
    assert.match(stdout, /not checked: revocation of tsa: No CRL or OCSP response covers each of its certificates/)
    assert.match(stdout, /not checked: the anchor in block \d+ of eip155:7: Ask a node/)
    const text = await ends(0, verify(file, '--policy', path('policy.txt')))
    assert.match(text.stdout, /no time is proven/)
  })

  it('reads a tlog-proof, which needs a policy', async () => {
    const proof = present(await registry().registry.proofs.tlogProof(bundle.subject.txId))
    const file = path('e-1.tlog-proof')
    await save('e-1.tlog-proof', proof)
    const { stdout } = await ends(0, verify(file, '--policy', path('policy.json')))
    assert.match(
      stdout,
      /^e-1\.tlog-proof: PROVEN\nThis one event only: .*\nlog evidence-registry\/\w+\nevent [0-9a-f]{64}\n/,
    )
    await ends(0, verify(file, '--policy', path('policy.txt')))
    await ends(7, verify(file, '--policy', path('policy.json'), '--file', path('original')))
    await ends(8, verify(file, '--policy', path('policy.json'), '--require', 'witnesses'))
    assert.match((await ends(2, verify(file))).stderr, /tlog-proof, which needs the keys of its log: --policy\n$/)
    await save('e-1.tlog-proof', proof.slice(0, -1))
    assert.match((await ends(2, verify(file, '--policy', path('policy.txt')))).stderr, /is not a whole tlog-proof: /)
  })

  it('is what `report` does, which also writes the page with the bundle and the policy', async () => {
    const report = (name: string) =>
      runCli(['report', path(name), '--policy', path('policy.json'), '--to', path('report.html')])
    const { stdout } = await ends(0, report('e-1.evidence.json'))
    assert.match(stdout, /^e-1\.evidence\.json: PROVEN\n[^]*\nnot checked: [^]*report\.html: the report, for a browser/)
    const html = await readFile(path('report.html'), 'utf8')
    const [, json = ''] = /<script type="application\/json" id="report">([^<]*)<\/script><main /.exec(html) ?? []
    const policy = await readFile(path('policy.json'), 'utf8')
    assert.deepEqual(JSON.parse(json), { bundle: JSON.stringify(bundle), policy })
    await ends(4, report('pending.evidence.json'))
    await rm(path('report.html'))
    assert.match((await ends(2, report('original'))).stderr, /original is not a proof bundle/)
    await assert.rejects(readFile(path('report.html')))
  })

  it('counts cosignatures of type 06, as absent if their package is not installed, which it says', async () => {
    const modern = new ForgedWitness('modern.example/w', 31, 6)
    const proof = present(await registry().registry.proofs.tlogProof(bundle.subject.txId))
    await save('w.tlog-proof', `${proof}${modern.cosign(proof.slice(proof.indexOf('\n\n') + 2))}\n`)
    const policy = await registry().registry.log.policyText()
    await save('w.txt', policy.replace('quorum none', `witness w ${modern.vkey}\nquorum w`))
    const args = ['verify', path('w.tlog-proof'), '--policy', path('w.txt')]
    assert.match((await ends(0, runCli(args))).stdout, /witnessed by 1 of 1/)
    const { stderr } = await ends(8, runCli(args, { NODE_OPTIONS: withoutPackage('@noble/post-quantum') }))
    assert.match(stderr, /type 06 .*: run npm install @noble\/post-quantum\n/)
  })

  it('says what a receipt states, and what it does not prove', async () => {
    const { bundle: erased, policy } = JSON.parse(await readFile('test/vectors/bundle/receipt.json', 'utf8')) as Members
    await save('erased.evidence.json', erased)
    await save('forged-policy.json', policy)
    const { stdout } = await ends(0, verify(path('erased.evidence.json'), '--policy', path('forged-policy.json')))
    assert.match(
      stdout,
      /receipt of an erasure [0-9a-f]{64}\n {2}stated at 2026-01-01T00:01:40\.000Z by operator; reason: request\n {2}erased of the event [0-9a-f]{64}: owner\n {2}entry 5 of the log, in its tree of 6 entries\n {2}no time is proven\n/,
    )
    assert.match(
      stdout,
      /not checked: copies of what was erased: .*backups, replicas and WAL of the database, .*bucket/,
    )
  })

  it('ends with 1 if a check fails', async () => {
    const text = JSON.stringify(bundle)
    await save('tampered.evidence.json', text.replace('A drill', 'A thrill'))
    const tampered = await ends(1, verify(path('tampered.evidence.json'), '--policy', path('policy.json')))
    assert.match(
      tampered.stdout,
      /: REFUTED: .*\nrule event\.text-differs, in the check "events"\nWhat the proof shows is not /,
    )
  })

  it('says what to do if an original is not a file of a bundle that is right otherwise', async () => {
    await registry().evidence({ externalId: 'e-2' })
    await registry().settle()
    const cases: readonly (readonly [Bundle, 'not-in-this-proof' | 'not-comparable', RegExp])[] = [
      [
        await registry().anyone('e-1'),
        'not-comparable',
        /The bundle discloses no hashes of files\. Download .*bundle\?fields=all&files=all/,
      ],
      [await registry().history('all', 'none'), 'not-comparable', /discloses no hashes of files\. Download /],
      [await registry().history('all', 'all', 'e-2'), 'not-in-this-proof', /The events of the bundle have no files$/],
      [bundle, 'not-in-this-proof', /unchanged copy of one of the files \(.*\): a\.txt, 11 bytes, [0-9a-f]{64}$/],
    ]
    for (const [one, state, advice] of cases) {
      await save('one.evidence.json', one)
      const args = [path('one.evidence.json'), '--policy', path('policy.json'), '--file', path('another')]
      const text = await ends(7, verify(...args))
      assert.match(text.stdout, /^one\.evidence\.json: PROVEN\n/)
      assert.match(text.stdout, /^another: NOT (IN THIS PROOF|COMPARABLE): /m)
      assert.ok(
        text.stdout.split('\n').some((line) => advice.test(line)),
        text.stdout,
      )
      const json = JSON.parse((await verify(...args, '--json')).stdout) as Record<'state' | 'file' | 'advice', string>
      assert.deepEqual([json.state, json.file], ['proven', state])
      assert.match(json.advice, advice)
    }
    // Another file is not hidden by what the user accepts, and hides nothing that contradicts.
    const both = ['--file', path('original'), '--file', path('another')]
    for (const args of [[], ['--policy', path('policy.json'), '--require', 'timestamp,anchor']])
      await ends(7, verify(path('e-1.evidence.json'), ...args, ...both))
    await ends(1, verify(path('tampered.evidence.json'), ...both))
    const { stdout } = await verify(path('tampered.evidence.json'), '--file', path('another'), '--json')
    const refuted = JSON.parse(stdout) as { rule: string; advice: string }
    assert.deepEqual([refuted.rule, refuted.advice.slice(0, 26)], ['event.text-differs', 'What the proof shows is no'])
  })

  it('ends with 2 for a file that is not a bundle', async () => {
    await save('proof.json', { status: 'ok', txId: bundle.subject.txId })
    for (const name of ['proof.json', 'original']) {
      const { code, stdout, stderr } = await verify(path(name), '--policy', path('policy.json'))
      assert.deepEqual([code, stdout], [2, ''], name)
      assert.match(stderr, /^evidence-registry verify: .* is not a proof bundle \(it does not have the format /)
      assert.ok(stderr.includes(path(name)))
    }
    await save('error.json', { error: 'There is no evid\u202eence', code: 'EVIDENCE_NOT_FOUND' })
    const { stderr } = await ends(2, verify(path('error.json')))
    const said = 'an error of the server: There is no evid\\u{202e}ence (EVIDENCE_NOT_FOUND)'
    assert.equal(stderr, `evidence-registry verify: ${path('error.json')} is not a proof bundle, but ${said}\n`)
    const cut = JSON.stringify(bundle).slice(0, -1)
    await save('cut.evidence.json', cut)
    const damaged = await verify(path('cut.evidence.json'), '--policy', path('policy.json'))
    assert.deepEqual([damaged.code, damaged.stdout], [2, ''], 'a bundle that is cut off')
    assert.match(damaged.stderr, /is not a whole proof bundle .* download it again\n$/)
  })

  it('ends with 2 for a bundle beyond a limit, which contradicts nothing', async () => {
    await save('long.evidence.json', { ...bundle, events: Array.from({ length: 10_001 }, () => ({})) })
    const { stderr } = await ends(2, verify(path('long.evidence.json')))
    assert.match(stderr, /long\.evidence\.json: events has more than 10000 items\. Ask for another proof\. If this one/)
  })

  it('ends with 2 for a bundle that a program wrote in another form', async () => {
    await save('nulls.evidence.json', { ...bundle, extensions: null })
    const { stderr } = await ends(2, verify(path('nulls.evidence.json')))
    const why = 'was changed by a program: extensions must be an object. It is not as the registry wrote it: fetch it'
    assert.ok(stderr.endsWith(`nulls.evidence.json ${why} again, or send the original file.\n`), stderr)
  })

  it('ends with 2 for a bundle, an export or a policy of a newer version', async () => {
    const newer = (value: object): object => ({ ...value, version: 2 })
    await save('newer.evidence.json', newer(bundle))
    await save('newer.json', newer(await registry().registry.log.policy()))
    await save('newer.ndjson', (await exported()).replace('"version":1', '"version":1,"erased":[]'))
    for (const args of [
      [path('newer.evidence.json')],
      [path('e-1.evidence.json'), '--policy', path('newer.json')],
      ['--export', path('newer.ndjson')],
    ]) {
      const { code, stdout, stderr } = await verify(...args)
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr, /made by a newer version \(the (?:version 2|member erased)\): fetch a newer verifier/)
    }
  })

  it('verifies an export that came through programs which change its line ends', async () => {
    const text = await exported()
    const run = async (content: string, name = 'acme.evidence.ndjson') => {
      await save(name, content)
      return verify('--export', path(name), '--policy', path('policy.json'))
    }
    const eve = Buffer.concat([Buffer.from(text.replace('Ada', 'Eve')), Buffer.of(0xff, 0x0a)])
    await writeFile(path('bytes.ndjson'), eve)
    const refuted = await ends(1, verify('--export', path('bytes.ndjson'), '--policy', path('policy.json')))
    assert.match(refuted.stdout, /\nline 2: refuted: .* \(event\.text-differs\)\n/)
    const crlf = text.replaceAll('\n', '\r\n')
    for (const content of [text, crlf, `\uFEFF${crlf}`, `${text}\n`, `${crlf}\r\n`, text.slice(0, -1)])
      assert.match((await ends(0, run(content))).stdout, /^acme\.evidence\.ndjson: PROVEN\n/)
    const [head = '', first = '', ...others] = text.split('\n')
    const cases = [
      [`${head}\n${first}\n`, /^\S+: INCOMPLETE: 1 of \d evidences, all that are there hold\n/],
      [`${head}\n${first.slice(0, 999)}`, /^\S+: INCOMPLETE: 0 of \d evidences, all that are there hold\n/],
      [
        `${head}\n${'\n'.repeat(400_000)}${first}\n${others.join('\n')}`,
        /: CHANGED: not the text that the registry wrote\n/,
      ],
      [
        `${head}\n${'x\n'.repeat(400_000)}`,
        /: NOT READABLE\n.*\nand 80 more\nnot checked: the lines after line 102\n/s,
      ],
    ] as const
    for (const [content, report] of cases) assert.match((await ends(2, run(content))).stdout, report)
    assert.match((await ends(2, run(JSON.stringify(bundle)))).stderr, /is not an export .* A bundle needs no --export/)
    await save('acme.evidence.ndjson', text)
    assert.match(
      (await ends(2, verify(path('acme.evidence.ndjson')))).stderr,
      /it is an export: check it with .* --export/,
    )
  })

  it('ends with 2 and a hint for what is not JSON, and reads files with a byte order mark', async () => {
    const text = JSON.stringify(bundle)
    const cases: readonly (readonly [string | Buffer, RegExp])[] = [
      [`HTTP/1.1 200 OK\r\nX: y\r\n\r\n${text}`, /headers of a response: save it again, without -i/],
      [Buffer.of(0xff, 0xfe, ...Buffer.from(text, 'utf16le')), /it is not text in UTF-8/],
    ]
    for (const [content, hint] of cases) {
      await writeFile(path('other.json'), content)
      const { code, stdout, stderr } = await verify(path('other.json'), '--policy', path('policy.json'))
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr, hint)
    }
    await save('bom.evidence.json', `\uFEFF${text}`)
    await save('bom.json', `\uFEFF${JSON.stringify(await registry().registry.log.policy())}`)
    await ends(0, verify(path('bom.evidence.json'), '--policy', path('bom.json')))
  })

  it('ends with 2 if it is used wrongly', async () => {
    for (const args of [
      [],
      ['a', 'b'],
      ['--unknown'],
      [path('missing')],
      [path('e-1.evidence.json'), '--policy', path('original')],
      [path('e-1.evidence.json'), '--rpc', 'ftp://x'],
      [path('e-1.evidence.json'), '--require', 'luck'],
      [path('e-1.evidence.json'), '--file', path('missing')],
    ]) {
      const { code, stderr } = await verify(...args)
      assert.equal(code, 2, args.join(' '))
      assert.match(stderr, /^evidence-registry verify: /)
    }
    const { stderr } = await verify('b.json', '--polcy', 'p')
    const flags =
      'FILE, --export, --file ORIGINAL, --policy FILE, --require timestamp,anchor,witnesses, --rpc URL, --json or --help'
    assert.equal(stderr, `evidence-registry verify: expected ${flags}, got --polcy\n`)
    assert.equal((await verify('--help')).code, 0)
  })

  it('ends with 3 without pinned keys, and with 4 before the events are sealed', async () => {
    const unpinned = await ends(3, verify(path('e-1.evidence.json')))
    assert.match(unpinned.stdout, /not checked: the keys of the log/)
    const pending = await ends(4, verify(path('pending.evidence.json'), '--policy', path('policy.json'), '--json'))
    const { state, claims } = JSON.parse(pending.stdout) as { state: string; claims: { events: { fields: object }[] } }
    assert.equal(state, 'pending')
    assert.ok('owner' in (claims.events[0]?.fields ?? {}))
  })

  it('ends with 6 for another log, and with 8 if something required is missing', async () => {
    // The log of Go's checksum database.
    await save('go.txt', 'log sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8\nquorum none\n')
    const other = await verify(path('e-1.evidence.json'), '--policy', path('go.txt'))
    assert.deepEqual([other.code, other.stdout.includes('REFUTED')], [6, false])
    assert.match(other.stdout, /OF ANOTHER LOG: nothing is said about it: The policy pins no key of the log /)
    assert.match(other.stdout, /\nGet the policy of the log that the proof names/)
    const requiring = ['--policy', path('policy.json'), '--require', 'timestamp,anchor']
    const missing = await ends(8, verify(path('e-1.evidence.json'), ...requiring))
    assert.match(missing.stdout, /HOLDS, BUT A REQUIREMENT IS MISSING: The event \w{64} has no verified anchor\n/)
    assert.match(missing.stdout, /timestamp of tsa/)
    assert.equal((await verify(path('e-1.evidence.json'), ...requiring.slice(0, 3), 'timestamp')).code, 0)
  })

  it('says what to do about a file or a node that it cannot read', async () => {
    await save('binary', '')
    await writeFile(path('binary'), new Uint8Array([0xff, 0xfe]))
    const file = path('e-1.evidence.json')
    const cases: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [[path('none')], /cannot read \S+none: it does not exist: correct the path \(ENOENT\)\n$/],
      [[directory], /it is a directory: name a file in it \(EISDIR\)\n$/],
      [[path('binary')], /it is not text in UTF-8: name another file \(/],
      [[file, '--file', directory], /it is a directory: name a file in it \(EISDIR\)\n$/],
      [
        [file, '--policy', file],
        /is not a policy \(.+\): save that of GET \/log\/policy, from a source that you trust\n$/,
      ],
      // No program listens on port 1.
      [[file, '--rpc', 'http://127.0.0.1:1'], /could not be asked: .+ Correct --rpc, or verify without it\n$/],
    ]
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await verify(...args)
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr, message)
    }
  })

  it('asks a node about the blocks of anchors', async (t) => {
    const anchors = bundle.checkpoints.flatMap((checkpoint) => checkpoint.anchors)
    let chainId = '0x7'
    let [hasBlocks, isPruned] = [true, false]
    let hashes = new Map(anchors.map(({ blockNumber, blockHash }) => [`0x${blockNumber.toString(16)}`, blockHash]))
    const node = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as { method: string; params: [string] }
        const block = hasBlocks ? { hash: hashes.get(body.params[0]) } : null
        const result = { eth_chainId: chainId, eth_blockNumber: '0xffffffffffff' }[body.method] ?? block
        const outcome = result === null && isPruned ? { error: { code: 4444, message: 'pruned' } } : { result }
        response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...outcome }))
      })
    })
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
    const rpc = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
    t.after(() => node.close())
    const args = [path('e-1.evidence.json'), '--policy', path('policy.json'), '--rpc', rpc]
    const confirmed = await ends(0, verify(...args))
    assert.doesNotMatch(confirmed.stdout, /Ask a node/)
    const [block] = anchors
    const ofTwoChains = await blocksOnChain(rpc, [present(block), { ...present(block), chainId: 8 }])
    assert.deepEqual([...ofTwoChains], [[nameOf(present(block)), true]])
    hashes = new Map()
    const missing = await ends(0, verify(...args))
    assert.match(missing.stdout, /not checked: the anchor .* is not part of the chain/)
    assert.equal((await verify(...args, '--require', 'timestamp,anchor')).code, 8)
    hasBlocks = false
    for (isPruned of [false, true]) {
      const deleted = await verify(...args)
      assert.deepEqual([deleted.code, deleted.stdout], [2, ''])
      assert.match(deleted.stderr, /it has deleted the block \d+: ask a node that keeps old blocks/)
    }
    chainId = '0x8'
    const other = await verify(...args)
    assert.deepEqual([other.code, other.stdout], [2, ''])
    assert.match(other.stderr, /the node could not be asked: it belongs to the chain 8, expected 7/)
  })
})
