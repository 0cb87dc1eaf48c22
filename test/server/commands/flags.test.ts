import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

describe('evidence-registry migrate', () => {
  it('says what it accepts, and repeats no URL', async (t) => {
    const directory = await temporaryFor(t)
    const secret = 'postgres://me:geheim@localhost/db'
    const wrong: readonly (readonly string[])[] = [
      [],
      ['--from', 'level'],
      ['--from', 'level', '--to', 'level'],
      ['--from', 'level', '--to', 'postgres'],
      ['--from', 'level', '--to', 'mysql://me:geheim@localhost/db'],
      ['--from', 'level', '--to', secret, '--to-file', 'x'],
      ['--from', secret, '--to', secret],
      ['--from', 'level', secret],
      ['--from', 'level:', '--to', secret],
      ['--from', `level:${join(directory, 'nothing')}`, '--to', secret],
      ['--from', 'level', '--to-file', join(directory, 'nothing')],
    ]
    for (const args of wrong) {
      const { code, stdout, stderr } = await runCli(['migrate', ...args])
      assert.deepEqual([code, stdout], [2, ''], args.join(' '))
      assert.match(stderr, /^evidence-registry migrate: [^\n]+\n$/)
      assert.ok(!stderr.includes('geheim'), stderr)
    }
  })
})

describe('the commands', () => {
  it('explain their arguments, and reject others', async () => {
    const { stdout } = await runCli(['help'])
    const names = [...stdout.matchAll(/^ {2}(\S+(?: \S+)?) {2,}\S/gm)].map(([, name = '']) => name)
    assert.ok(names.length > 12, stdout)
    for (const name of names) {
      assert.deepEqual(await runCli(['help', ...name.split(' ')]), await runCli([...name.split(' '), '--help']))
      const help = await runCli([...name.split(' '), '--help'])
      assert.deepEqual([help.code, help.stderr], [0, ''], name)
      assert.ok(help.stdout.startsWith(`Usage: evidence-registry ${name} `), help.stdout)
      assert.match(help.stdout, /\nExit codes: 0 .*; 1 .*; 2 .*\.\n$/)
      const wrong = await runCli([...name.split(' '), '--nonsense'])
      assert.deepEqual([wrong.code, wrong.stdout], [2, ''], name)
      // `config check` has the flags of the server, and its error.
      const text = '(?:expected .* or --help, got|Unknown flag) --nonsense(?:; --help lists all of them)?'
      assert.match(wrong.stderr, new RegExp(`^evidence-registry ${name}: ${text}\n$`))
    }
  })

  it('name the flags that they need', async () => {
    for (const [name, flag] of [
      ['backup', '--to DIR'],
      ['restore', '--from DIR'],
      ['import', '--company ID'],
      ['backup verify', 'DIR'],
    ] as const) {
      const { stderr } = await ends(2, runCli(name.split(' ')))
      assert.ok(stderr.startsWith(`evidence-registry ${name}: expected `) && stderr.includes(flag), stderr)
    }
  })

  it('are suggested for a name that is nearly theirs', async () => {
    for (const [given, hint] of [
      ['exprt', ' Did you mean export?'],
      ['imports', ' Did you mean import?'],
      ['nonsense', ''],
    ] as const) {
      const { code, stderr } = await runCli([given, '--json'])
      const expected = `there is no command "${given}".${hint} evidence-registry help lists all of them`
      assert.deepEqual([code, stderr], [2, `evidence-registry: ${expected}\n`])
    }
  })

  it('of a group are listed without a name', async () => {
    const { code, stderr } = await runCli(['keys'])
    assert.deepEqual(
      [code, stderr],
      [2, 'evidence-registry keys: expected list, generate, rotate, mark-compromised or --help\n'],
    )
    const help = await runCli(['keys', '--help'])
    assert.match(help.stdout, /^Usage: evidence-registry keys list \| generate \| rotate/)
  })
})
