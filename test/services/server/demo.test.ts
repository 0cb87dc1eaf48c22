import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { temporaryFor } from '../../support/temporary.ts'
import { programArgs } from '../../support/repository.ts'

/** A directory with files as in real ones: nested, empty, binary, with long and unusual names. */
async function sourceTree(t: TestContext): Promise<string> {
  const root = await temporaryFor(t)
  await mkdir(join(root, 'Bücher & Hefte/innen'), { recursive: true })
  const files: Record<string, string | Uint8Array> = {
    'README.md': '# Hello\n',
    'empty.txt': '',
    'Bücher & Hefte/ein "Buch".txt': 'Es war einmal\r\n--boundary--\r\n',
    'Bücher & Hefte/innen/ohne-endung': new Uint8Array(100_000).map((_, i) => i * 7),
    [`${'long'.repeat(40)}.bin`]: new Uint8Array([0, 255, 13, 10]),
    'node_modules.json': '{}',
  }
  for (const [path, content] of Object.entries(files)) await writeFile(join(root, path), content)
  return root
}

interface Outcome {
  readonly code: number | null
  readonly output: string
}

/** Runs the demo with its own temporary folder, which must be empty afterwards. */
async function demo(
  t: TestContext,
  args: readonly string[],
  onOutput?: (kill: () => void, text: string) => void,
): Promise<Outcome> {
  const temporary = await temporaryFor(t)
  const child = spawn(process.execPath, [...programArgs('server/demo/main.ts'), ...args], {
    env: { ...process.env, TMPDIR: temporary, EVIDENCE_PORT: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      onOutput?.(() => child.kill('SIGTERM'), text)
    })
  const [code] = (await once(child, 'close')) as [number | null]
  const left = (await readdir(temporary)).filter((name) => name.startsWith('evidence-demo-'))
  assert.deepEqual(left, [], 'the data directory is gone')
  return { code, output }
}

describe('the demo', { concurrency: true }, () => {
  it('registers a directory, and every check passes', async (t) => {
    const { code, output } = await demo(t, [await sourceTree(t)])
    assert.match(output, /All [\d,]+ checks passed/)
    assert.match(output, /file bytes: as sent, and as the event says +5 +0\n/)
    assert.match(output, /deleted files are gone +1 +0\n/)
    assert.match(output, /log rebuilt to its signed root +1 +0\n/)
    assert.match(output, /demo\.evidence\.json: PROVEN\n/)
    assert.match(output, /tampered\.evidence\.json: REFUTED: /)
    assert.match(output, /bundle: proven by the command +1 +0\n/)
    assert.match(output, /bundle: a changed copy is refuted +1 +0\n/)
    assert.equal(code, 0)
  })

  it('fails if one byte of a response is changed', async (t) => {
    const { code, output } = await demo(t, [await sourceTree(t), '--tamper', 'event,proof,stamp,file,log'])
    assert.equal(code, 1, output)
    const failed = [
      /FAILED histories/,
      /FAILED proofs: inclusion/,
      /FAILED proofs: RFC 3161 token/,
      /FAILED file bytes/,
      /FAILED log rebuilt/,
    ]
    for (const line of failed) assert.match(output, line)
    assert.match(output, /\d+ of \d+ checks failed/)
  })

  it('stops its server and removes its data after a signal', async (t) => {
    const { code, output } = await demo(t, [await sourceTree(t)], (kill, text) => {
      if (text.includes('registered')) kill()
    })
    assert.equal(code, 1)
    assert.match(output, /Ended by SIGTERM/)
  })

  it('rejects wrong arguments', async (t) => {
    assert.match((await demo(t, ['--help'])).output, /Usage: npm run demo/)
    const wrong: readonly (readonly [args: readonly string[], line: RegExp])[] = [
      [['--tamper', 'nonsense'], /--tamper must be some of event, .* got nonsense/],
      [['--tamper'], /expected DIR, --keep, --tamper KINDS or --help$/],
      [['--keep', '--nonsense=1'], /expected DIR, --keep, --tamper KINDS or --help, got --nonsense=1$/],
      [['-x'], /expected DIR, --keep, --tamper KINDS or --help, got -x$/],
      [['/nowhere/at/all'], /\/nowhere\/at\/all is not a directory: name one with files$/],
      [['a', 'b'], /expected one directory, got 2$/],
    ]
    for (const [args, line] of wrong) {
      const { code, output } = await demo(t, args)
      const [first = '', ...others] = output.trimEnd().split('\n')
      assert.deepEqual([code, others], [2, []], args.join(' '))
      assert.match(first, line)
    }
  })
})
