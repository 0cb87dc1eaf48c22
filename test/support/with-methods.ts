/** The same object with some methods replaced. */
export function withMethods<T extends object>(base: T, methods: Partial<T>): T {
  return new Proxy(base, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(Reflect.has(methods, name) ? methods : target) : value
    },
  })
}
