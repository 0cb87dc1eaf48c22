export const nav = {
  label: 'Main',
  create: 'New',
  more: 'More',
  crumb: 'Breadcrumb',
  sections: 'Sections',
  switchCompany: 'Switch company',
  log: 'Log',
  verify: 'Verify',
  sourceSystems: 'Access',
  api: 'API',
  signIn: 'Sign in',
  signOut: 'Sign out',
} as const

export const keys = {
  title: 'Keyboard',
  does: {
    '/': 'Search',
    c: 'New evidence',
    j: 'Next in a list',
    k: 'Previous in a list',
    t: 'Ages or times',
    '?': 'These keys',
  },
  use: 'Use these keys',
} as const
