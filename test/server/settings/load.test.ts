import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRegistryError } from '../../../core/index.ts'
import { loadConfig, settingRows, type Config } from '../../../server/index.ts'
import { helpText } from '../../../server/settings/help.ts'
import { Settings } from '../../../server/settings/schema.ts'

interface Sources {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
}

const load = ({ args = [], env = {}, files = {} }: Sources = {}): Config =>
  loadConfig({ args, env, readFile: readerOf(files) })

const readerOf =
  (files: Readonly<Record<string, string>>) =>
  (path: string): Uint8Array => {
    const content = files[path]
    if (content === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    return new Uint8Array(Buffer.from(content, 'latin1'))
  }

/** Returns the message with which wrong settings are rejected, which must be one line. */
function rejectionOf(sources: Sources): string {
  try {
    load(sources)
  } catch (error) {
    assert.ok(isRegistryError(error, 'CONFIG_ERROR'))
    assert.ok(!error.message.includes('\n'), 'one line')
    return error.message
  }
  return assert.fail('it was accepted')
}

describe('configuration', () => {
  it('ignores the key of commands that use the API', () =>
    assert.deepEqual(load({ env: { EVIDENCE_API_KEY: 'key' } }), load()))

  it('has the default of each setting that has one, and no other setting', () => {
    const defaults = Object.entries<{ readonly default?: unknown }>(Settings.properties).flatMap(([name, setting]) =>
      setting.default === undefined ? [] : [[name, setting.default] as const],
    )
    assert.ok(defaults.length > 20)
    assert.deepEqual(load(), Object.fromEntries(defaults))
  })

  it('prefers flags to the environment, and the environment to the file', () => {
    const files = { 'c.json': '{"port":1,"host":"file.example","dataDir":"/file","trustProxy":true}' }
    const env = { EVIDENCE_PORT: '2', EVIDENCE_HOST: 'env.example', EVIDENCE_CONFIG: 'c.json' }
    const { port, host, dataDir, trustProxy } = load({ args: ['--port', '3'], env, files })
    assert.deepEqual([port, host, dataDir, trustProxy], [3, 'env.example', '/file', true])
    assert.equal(
      load({ args: ['--config=d.json'], env, files: { ...files, 'd.json': '{"dataDir":"/other"}' } }).dataDir,
      '/other',
    )
  })

  it('accepts flags in both spellings, and switches without a value', () => {
    const { port, sealMaxWaitMs, acceptClock, trustProxy } = load({
      args: ['--port=0', '--seal-max-wait-ms', '7', '--accept-clock', '--trust-proxy=false'],
    })
    assert.deepEqual([port, sealMaxWaitMs, acceptClock, trustProxy], [0, 7, true, false])
  })

  it('takes proxies from the variables that other programs use, small letters first', () => {
    const env = {
      HTTPS_PROXY: 'http://a.example',
      https_proxy: 'http://b.example',
      NO_PROXY: 'c.example',
      HTTP_PROXY: '',
    }
    const { httpProxy, httpsProxy, noProxy } = load({ env })
    assert.deepEqual([httpProxy, httpsProxy, noProxy], [undefined, 'http://b.example', 'c.example'])
  })

  it('treats an empty variable as unset, and ignores variables of other programs', () => {
    assert.equal(load({ env: { EVIDENCE_PORT: '', PATH: '/bin', NODE_ENV: 'test' } }).port, load().port)
  })

  it('reads a secret from a variable, a file or the configuration file, but not from a flag', () => {
    const key = 'an-operator-key-of-tests'
    assert.equal(load({ env: { EVIDENCE_OPERATOR_KEY: key } }).operatorKey, key)
    assert.equal(load({ env: { EVIDENCE_OPERATOR_KEY_FILE: 'key' }, files: { key: `${key}\n` } }).operatorKey, key)
    assert.equal(load({ args: ['--config', 'c'], files: { c: JSON.stringify({ operatorKey: key }) } }).operatorKey, key)
    assert.match(
      rejectionOf({ args: ['--operator-key', key] }),
      /^--operator-key is a secret: set EVIDENCE_OPERATOR_KEY/,
    )
    assert.match(rejectionOf({ env: { EVIDENCE_OPERATOR_KEY: key, EVIDENCE_OPERATOR_KEY_FILE: 'key' } }), /not both$/)
  })

  it('names a wrong setting, what it accepts, and what it got', () => {
    const cases: [Sources, string][] = [
      [{ args: ['--port', '70000'] }, '--port must be an integer from 0 to 65535, got "70000"'],
      [{ env: { EVIDENCE_PORT: '80a' } }, 'EVIDENCE_PORT must be an integer from 0 to 65535, got "80a"'],
      [{ env: { EVIDENCE_PORT: '-1' } }, 'EVIDENCE_PORT must be an integer from 0 to 65535, got "-1"'],
      [
        { env: { EVIDENCE_SEAL_MAX_WAIT_MS: '1.5' } },
        'EVIDENCE_SEAL_MAX_WAIT_MS must be an integer from 1 to 86400000, got "1.5"',
      ],
      ...['ftp://x', 'x/?token=t', 'https://user:password@x', 'https://x/?token=t'].map((url): [Sources, string] => [
        { env: { EVIDENCE_PUBLIC_URL: url } },
        'EVIDENCE_PUBLIC_URL must be an http or https URL without a name and password, a query and a fragment',
      ]),
      [
        { env: { EVIDENCE_CORS_ORIGINS: 'https://user:password@x' } },
        'EVIDENCE_CORS_ORIGINS must be origins such as https://app.example, separated by commas',
      ],
      [
        { env: { EVIDENCE_LOG_LEVEL: 'loud' } },
        'EVIDENCE_LOG_LEVEL must be one of debug, info, warn, error, silent, got "loud"',
      ],
      [
        { env: { EVIDENCE_LOG_NAME: 'a b' } },
        'EVIDENCE_LOG_NAME must be 1 to 160 characters of A-Z a-z 0-9 . _ - /, got "a b"',
      ],
      [
        { env: { EVIDENCE_RECORDS: 'postgres://user:password@x/db' } },
        'EVIDENCE_RECORDS must be level, postgres, or the path of a module such as ./my-adapter.mjs',
      ],
      [{ env: { EVIDENCE_TRUST_PROXY: 'yes' } }, 'EVIDENCE_TRUST_PROXY must be true or false, got "yes"'],
      [{ env: { EVIDENCE_PROT: '1' } }, 'Unknown setting EVIDENCE_PROT; --help lists all of them'],
      [{ args: ['--prot', '1'] }, 'Unknown flag --prot; --help lists all of them'],
      [{ args: ['extra'] }, 'Unknown command extra; --help lists all of them'],
      [{ args: ['--port'] }, '--port needs a value'],
      [{ args: ['--config', 'c'], files: { c: '{"prot":1}' } }, 'c: unknown setting prot; --help lists all of them'],
      [
        { args: ['--config', 'c'], files: { c: '{"port":[1]}' } },
        'c: port must be an integer from 0 to 65535, got "[1]"',
      ],
      [{ args: ['--config', 'c'], files: { c: '{"port":1,"port":2}' } }, '--config: c is not valid JSON'],
      [{ args: ['--config', 'c'], files: { c: '{' } }, '--config: c is not valid JSON'],
      [{ args: ['--config', 'c'], files: { c: '[]' } }, '--config: c must contain a JSON object of settings'],
      [{ env: { EVIDENCE_CONFIG: 'none' } }, 'EVIDENCE_CONFIG: the file none cannot be read (ENOENT)'],
      [
        { env: { EVIDENCE_OPERATOR_KEY_FILE: 'perhaps-the-key-itself' } },
        'EVIDENCE_OPERATOR_KEY_FILE: the file that it names cannot be read (ENOENT)',
      ],
    ]
    for (const [sources, text] of cases) assert.equal(rejectionOf(sources), text)
  })

  it('ignores the links of Kubernetes to a Service whose name begins with evidence', () => {
    const links: Record<string, string> = {}
    for (const [service, ip, host] of [
      ['EVIDENCE_REGISTRY', '10.0.0.1', '10.0.0.1'],
      ['EVIDENCE', 'fd00::1', '[fd00::1]'],
    ] as const)
      Object.assign(links, {
        [`${service}_SERVICE_HOST`]: ip,
        [`${service}_SERVICE_PORT`]: '80',
        [`${service}_SERVICE_PORT_HTTP_2`]: '80',
        [`${service}_PORT`]: `tcp://${host}:80`,
        [`${service}_PORT_80_TCP`]: `tcp://${host}:80`,
        [`${service}_PORT_80_TCP_PROTO`]: 'tcp',
        [`${service}_PORT_80_TCP_PORT`]: '80',
        [`${service}_PORT_80_TCP_ADDR`]: ip,
      })
    for (const env of [links, { EVIDENCE_REGISTRY_PORT: 'tcp://10.0.0.1:80' }]) assert.deepEqual(load({ env }), load())
    for (const [variable, value] of Object.entries(links)) {
      const env = { [variable]: variable.includes('SERVICE_PORT') ? value : `${value}/x` }
      assert.match(rejectionOf({ env }), /^Unknown setting EVIDENCE_|^EVIDENCE_PORT must be an integer/)
    }
  })

  it('reads only files in UTF-8 without control characters, with or without a byte order mark', () => {
    const bom = '\u00ef\u00bb\u00bf'
    assert.equal(load({ args: ['--config', 'c'], files: { c: `${bom}{\t"port":\r\n9000}\n` } }).port, 9_000)
    const key = 'an-operator-key-of-32-characters'
    const utf16 = Buffer.from(key, 'utf16le').toString('latin1')
    const env = { EVIDENCE_OPERATOR_KEY_FILE: 'f' }
    for (const content of [key, `${bom}${key}\r\n`, `${key}\n\n`])
      assert.equal(load({ env, files: { f: content } }).operatorKey, key)
    for (const [content, reason] of [
      [`${key}\u00e4`, /the file that it names cannot be read \(it is not text in UTF-8: save it as UTF-8\)/],
      [`\u00ff\u00fe${utf16}`, /not text in UTF-8/],
      [utf16, /control character/],
      [`${key}\nsecond`, /control character/],
      [`${key}\u00c2\u0085`, /control character/],
    ] as const) {
      assert.match(rejectionOf({ env, files: { f: content } }), reason)
      assert.ok(!rejectionOf({ env, files: { f: content } }).includes('operator-key'))
    }
    assert.match(rejectionOf({ args: ['--config', 'c'], files: { c: '{"port":9000}\0' } }), /control character/)
    assert.match(
      rejectionOf({ env: { EVIDENCE_EVM_KEYSTORE_PASSWORD: 'p\uFFFD' } }),
      /EVIDENCE_EVM_KEYSTORE_PASSWORD is not text in UTF-8/,
    )
  })

  it('never shows a secret', () => {
    const short = 'short-secret'
    for (const sources of [
      { env: { EVIDENCE_OPERATOR_KEY: short } },
      { env: { EVIDENCE_OPERATOR_KEY_FILE: 'f' }, files: { f: short } },
      { args: ['--config', 'c'], files: { c: JSON.stringify({ operatorKey: short }) } },
    ]) {
      const text = rejectionOf(sources)
      assert.ok(!text.includes(short) && text.includes('16 to 1,024 printable ASCII characters'), text)
    }
  })

  it('never shows what is set in a wrong place and may be a secret', () => {
    const misplaced = [
      'https://u:PW@h/x',
      'postgres:u:PW@h/db.x',
      'u:PW@h',
      '{"crypto":"./PW"}',
      'a/b\nPW',
      'PW'.repeat(8),
    ]
    const paths = ['RECORDS', 'BLOBS', 'TSA', 'ANCHOR', 'DATA_DIR', 'SECRET_FILE', 'CHECKPOINT_KEYS', 'TSA_CA']
    for (const value of misplaced)
      for (const name of [...paths, 'EVM_KEYSTORE', 'CONFIG', 'LOG_LEVEL', 'PORT', 'TRUST_PROXY', 'TSA_POLICY']) {
        // A word is a path, too.
        if (value.startsWith('PWPW') && (name === 'CONFIG' || /^(?:DATA|SECRET|CHECK|TSA_CA|EVM)/.test(name))) continue
        const text = rejectionOf({ env: { [`EVIDENCE_${name}`]: value } })
        assert.match(text, new RegExp(`^EVIDENCE_${name} must be `))
        assert.doesNotMatch(text, /PW/)
      }
    assert.doesNotMatch(rejectionOf({ env: { EVIDENCE_S3_KMS_KEY_ID: 'https://u:PW@h' } }), /PW/)
    for (const path of ['/a b/c@d/e.mjs', 'C:\\x\\@y\\z.mjs', './node_modules/@acme/records.mjs'])
      assert.equal(load({ env: { EVIDENCE_RECORDS: path, EVIDENCE_TSA_CA: path } }).records, path)
  })

  it('accepts the URLs of nodes, which may contain keys, and the numbers of an EVM chain', () => {
    const env = {
      EVIDENCE_ANCHOR: 'evm',
      EVIDENCE_EVM_RPC_URL: 'https://a.example/v2/key, http://b.example:8545',
      EVIDENCE_EVM_CHAIN_ID: '11155111',
      EVIDENCE_EVM_PRIVATE_KEY_FILE: 'key',
      EVIDENCE_EVM_CONFIRMATIONS: 'finalized',
      EVIDENCE_EVM_MAX_FEE_GWEI: '1.5',
    }
    const config = load({ env, files: { key: `0x${'ab'.repeat(32)}\n` } })
    const { anchor, evmRpcUrl, evmChainId, evmPrivateKey, evmConfirmations, evmMaxFeeGwei } = config
    assert.deepEqual(
      { anchor, evmRpcUrl, evmChainId, evmPrivateKey, evmConfirmations, evmMaxFeeGwei },
      {
        anchor: 'evm',
        evmRpcUrl: ['https://a.example/v2/key', 'http://b.example:8545'],
        evmChainId: 11_155_111,
        evmPrivateKey: `0x${'ab'.repeat(32)}`,
        evmConfirmations: 'finalized',
        evmMaxFeeGwei: 1.5,
      },
    )
    assert.equal(load({ env: { EVIDENCE_EVM_CONFIRMATIONS: '64' } }).evmConfirmations, 64)
    for (const [variable, value] of [
      ['EVIDENCE_ANCHOR', 'bitcoin'],
      ['EVIDENCE_EVM_CHAIN_ID', '0'],
      ['EVIDENCE_EVM_CONFIRMATIONS', '0'],
      ['EVIDENCE_EVM_CONFIRMATIONS', 'final'],
      ['EVIDENCE_EVM_MAX_FEE_GWEI', '0'],
      ['EVIDENCE_EVM_MAX_FEE_GWEI', '1e3'],
    ] as const)
      assert.match(rejectionOf({ env: { [variable]: value } }), new RegExp(`^${variable} must be .*, got "${value}"$`))
    for (const [variable, value] of [
      ['EVIDENCE_EVM_RPC_URL', 'wss://a.example/secret-key'],
      ['EVIDENCE_EVM_RPC_URL', 'https://a.example/secret-key,'],
      ['EVIDENCE_EVM_PRIVATE_KEY', 'secret-key'],
    ] as const)
      assert.doesNotMatch(rejectionOf({ env: { [variable]: value } }), /secret-key/)
  })

  it('removes slashes from the end of the public URL', () => {
    assert.equal(
      load({ env: { EVIDENCE_PUBLIC_URL: 'https://example.org/registry//' } }).publicUrl,
      'https://example.org/registry',
    )
    for (const url of [
      'https://example.org/?a',
      'https://example.org/#a',
      'https://user@example.org',
      'https://:secret@example.org',
      'example.org',
    ])
      rejectionOf({ env: { EVIDENCE_PUBLIC_URL: url } })
  })

  it('has a row for each setting', () => {
    const rows = settingRows()
    assert.deepEqual(
      rows.map(({ variable }) => variable).toSorted(),
      Object.keys(Settings.properties)
        .map((name) => `EVIDENCE_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`)
        .toSorted(),
    )
    for (const { variable, flag } of rows)
      if (flag !== undefined) assert.equal(flag, `--${variable.slice(9).toLowerCase().replaceAll('_', '-')}`)
  })

  it('explains each setting in the help, without flags for secrets', () => {
    const help = helpText()
    const words = help.replaceAll(/\s+/g, ' ')
    for (const { topic, flag, variable, accepts, doc } of settingRows())
      for (const part of [topic, flag ?? '', variable, accepts, doc]) assert.ok(words.includes(part), part)
    for (const secret of ['--operator-key', '--postgres-url', '--evm-private-key']) assert.ok(!help.includes(secret))
  })
})
