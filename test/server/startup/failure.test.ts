import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RegistryError } from '../../../core/index.ts'
import { describeFailure } from '../../../server/startup/failure.ts'

const address = { host: '127.0.0.1', port: 80 }
const systemError = (code: string, fields: object): Error =>
  Object.assign(new Error(`${code}: something`), { code, ...fields })

describe('the description of a failed start', () => {
  for (const [code, expected] of [
    ['EADDRINUSE', /^Port 80 of 127\.0\.0\.1 is in use: .*--port.*\(EADDRINUSE\)$/],
    ['EACCES', /^This user must not listen on port 80: .*--port.*\(EACCES\)$/],
    ['EADDRNOTAVAIL', /^127\.0\.0\.1 is not an address of this machine: .*--host.*\(EADDRNOTAVAIL\)$/],
  ] as const)
    it(`says what to do about ${code} of listen, which in node:cluster is one of bind`, () => {
      for (const syscall of ['listen', 'bind'])
        assert.match(describeFailure(systemError(code, { syscall }), address), expected)
    })

  it('speaks of --host only if that name is unknown, and of the data directory only for a file', () => {
    const unknown = (hostname: string): Error => systemError('ENOTFOUND', { syscall: 'getaddrinfo', hostname })
    assert.match(
      describeFailure(unknown('127.0.0.1'), address),
      /^The host name 127\.0\.0\.1 is unknown: correct --host/,
    )
    for (const cause of [unknown('db.invalid'), systemError('EACCES', { syscall: 'connect', address: '10.0.0.1' })])
      assert.equal(
        describeFailure(new RegistryError('UNAVAILABLE', 'PostgreSQL at db.invalid', { cause }), address),
        `PostgreSQL at db.invalid: ${cause.message}`,
      )
  })

  it('says what to do about a directory without access, also if it is the cause of another error', () => {
    const error = systemError('EACCES', { syscall: 'mkdir', path: '/data/records' })
    for (const failure of [error, new RegistryError('UNAVAILABLE', 'It cannot be opened', { cause: error })])
      assert.match(
        describeFailure(failure, address),
        /^\/data\/records: this user has no access: .*--data-dir \(EACCES\)$/,
      )
  })

  it('says what to do about a system error that LevelDB reports as a text', () => {
    for (const [text, expected] of [
      ['No space left on device', /disk is full: free some space.*\(ENOSPC\)/],
      ['Read-only file system', /file system is read-only.*\(EROFS\)/],
      ['Permission denied', /no access.*\(EACCES\)/],
      ['No such file or directory', /does not exist: mount.*\(ENOENT\)/],
    ] as const) {
      const cause = new Error('Database failed to open', {
        cause: new Error(`IO error: /data/records/db/LOG: ${text}`),
      })
      const error = new RegistryError('UNAVAILABLE', 'LevelDB could not open /data/records/db', { cause })
      assert.match(describeFailure(error, undefined), expected)
    }
  })

  it('keeps a message that already says what to do, because it is not about the data directory', () => {
    const cause = systemError('ENOSPC', { syscall: 'write' })
    const message = 'The backup in /mnt/backup is not complete: the disk is full; free some space (ENOSPC)'
    assert.equal(describeFailure(new RegistryError('UNAVAILABLE', message, { cause }), address), message)
  })

  it('keeps it also if LevelDB reports the error, as it does for the lock of a directory', () => {
    const cause = new Error('Database failed to open', {
      cause: new Error('IO error: /b/lock: No space left on device'),
    })
    const message = 'The directory /b cannot be locked: the disk is full; free some space (ENOSPC)'
    assert.equal(describeFailure(new RegistryError('UNAVAILABLE', message, { cause }), undefined), message)
  })

  it('speaks of --data-dir only for a path in the data directory', () => {
    for (const [path, expected] of [
      ['/data/records', /^\/data\/records: the disk is full: free some space, or choose .*--data-dir \(ENOSPC\)$/],
      ['/database', /^\/database: the disk is full: free some space \(ENOSPC\)$/],
    ] as const)
      assert.match(describeFailure(systemError('ENOSPC', { syscall: 'open', path }), undefined, '/data'), expected)
  })

  it('keeps a message that names what is missing', () => {
    const cause = systemError('ENOENT', { syscall: 'open', path: '/run/secret' })
    const error = new RegistryError('CONFIG_ERROR', 'EVIDENCE_SECRET_FILE: /run/secret cannot be read', { cause })
    assert.equal(describeFailure(error, address), `${error.message}: ${cause.message}`)
  })

  it('adds the message of the system once', () => {
    const cause = systemError('EIO', { syscall: 'read' })
    for (const message of ['It cannot be opened', 'It cannot be opened: EIO: something'])
      assert.equal(
        describeFailure(new RegistryError('UNAVAILABLE', message, { cause }), address),
        'It cannot be opened: EIO: something',
      )
  })

  it('shows the message of other errors', () => {
    assert.equal(describeFailure(new RegistryError('CONFIG_ERROR', 'Wrong setting'), address), 'Wrong setting')
    assert.equal(describeFailure('text', undefined), 'text')
  })
})
