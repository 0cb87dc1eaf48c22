import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Route } from '../../../server/http/route.ts'
import { Section } from '../../../server/http/sections.ts'

const routeTo = (path: string): Route => new Route({ method: 'GET', path, run: () => undefined })

describe('Route', () => {
  it('has the paths with one segment for each parameter, and no others', () => {
    const route = routeTo('/a/{ONE}/b.c/{TWO}')
    assert.ok(route.hasPath('/a/x/b.c/y'))
    for (const path of [
      '/a/x/bxc/y',
      '/a//b.c/y',
      '/a/x/b.c/',
      '/a/x/b.c/y/',
      '/a/x/b.c/y/z',
      '/A/x/b.c/y',
      'x/a/x/b.c/y',
    ])
      assert.ok(!route.hasPath(path), path)
  })

  it('lets only a parameter with a star contain slashes', () => {
    const route = routeTo('/tile/{L}/{N*}')
    assert.deepEqual({ ...route.parametersOf('/tile/0/x001/067.p/3') }, { L: '0', N: 'x001/067.p/3' })
    assert.equal(route.path, '/tile/{L}/{N}')
    assert.ok(!route.hasPath('/tile/0/'))
  })

  it('returns the text that a client has encoded', () => {
    const route = routeTo('/company/{COMPANY}/evidence/{ID}')
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.string({ unit: 'binary', minLength: 1 }),
        (a, b) => {
          const path = `/company/${encodeURIComponent(a)}/evidence/${encodeURIComponent(b)}`
          assert.ok(route.hasPath(path))
          assert.deepEqual({ ...route.parametersOf(path) }, { COMPANY: a, ID: b })
        },
      ),
    )
  })

  it('takes a literal text as it is, whatever characters it has', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('a', 'b', '.', '*', '+', '?', '^', '$', '(', ')', '[', ']', '|', '\\', '/', '-'),
        }),
        fc.string(),
        (text, other) => {
          const route = routeTo(`/${text}`)
          assert.ok(route.hasPath(`/${text}`))
          assert.equal(route.hasPath(`/${other}`), text === other)
        },
      ),
    )
  })
})

describe('the routes of a section', () => {
  const sectionWith = (...routes: readonly (readonly ['GET' | 'POST' | 'PUT', string])[]): Section => {
    const section = new Section(true)
    for (const [method, path] of routes) section.add({ method, path, run: () => undefined })
    return section
  }

  it('are tried in their order', () => {
    const section = sectionWith(['GET', '/s/{ID}/self'], ['GET', '/s/{ID}/{OTHER}'])
    assert.equal(section.routeOf('GET', '/s/1/self')?.path, '/s/{ID}/self')
    assert.equal(section.routeOf('GET', '/s/1/2')?.path, '/s/{ID}/{OTHER}')
  })

  it('serve HEAD where they serve GET', () => {
    const section = sectionWith(['GET', '/s/a'], ['POST', '/s/b'])
    assert.equal(section.routeOf('HEAD', '/s/a')?.path, '/s/a')
    assert.equal(section.routeOf('HEAD', '/s/b'), undefined)
  })

  it('tell the methods of a path', () => {
    const section = sectionWith(['PUT', '/s/{ID}'], ['GET', '/s/{ID}'], ['POST', '/s/{ID}/x'])
    assert.deepEqual(section.methodsOf('/s/1'), ['GET', 'HEAD', 'PUT'])
    assert.deepEqual(section.methodsOf('/t'), [])
  })
})
